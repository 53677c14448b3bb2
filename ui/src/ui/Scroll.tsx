// What may be wider than the screen: it scrolls sideways, by keyboard too, and can be saved.
import type { ComponentChildren } from "preact";
import { SaveSeen } from "./SaveSeen.tsx";

export function Scroll({ children, busy }: { children: ComponentChildren; busy?: boolean }) {
  return (
    <div class="table">
      <div class="scroll" role="group" aria-label="A table that may scroll sideways" tabIndex={0} aria-busy={busy}>
        {children}
      </div>
      <SaveSeen />
    </div>
  );
}
