// A table that may be wider than the screen: it scrolls sideways, by keyboard too, and can be saved.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { labelCells } from "./cards.ts";
import { SaveSeen } from "./SaveSeen.tsx";

export function Scroll({ children, busy }: { children: ComponentChildren; busy?: boolean }) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => ref.current?.querySelectorAll<HTMLTableElement>("table.cards").forEach(labelCells));
  return (
    <div class="table">
      <div class="scroll" ref={ref} role="group" aria-label="A table that may scroll sideways" tabIndex={0} aria-busy={busy}>
        {children}
      </div>
      <SaveSeen />
    </div>
  );
}
