// What may be wider than the screen: it scrolls sideways, by keyboard too.
import type { ComponentChildren } from "preact";

export function Scroll({ children, busy }: { children: ComponentChildren; busy?: boolean }) {
  return (
    <div class="scroll" role="group" aria-label="A table that may scroll sideways" tabIndex={0} aria-busy={busy}>
      {children}
    </div>
  );
}
