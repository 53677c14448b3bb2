// A button with a list of things to do. It is above everything else, so that no card cuts it off.
import { useId, useRef } from "preact/hooks";
import { Button } from "./Basics.tsx";

export interface Choice {
  name: string;
  act: () => void;
}

const GAP = 4;

export function Menu({ label, title, choices, small = true }: { label: string; title?: string; choices: Choice[]; small?: boolean }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLSpanElement>(null);
  const items = () => [...(list.current?.querySelectorAll("button") ?? [])];
  const opener = () => button.current?.querySelector("button");
  const toggle = () => {
    const [menu, at] = [list.current, opener()?.getBoundingClientRect()];
    menu?.togglePopover();
    if (!menu?.matches(":popover-open") || !at) return;
    const size = menu.getBoundingClientRect();
    const below = at.bottom + GAP + size.height <= innerHeight;
    menu.style.top = `${below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - size.height)}px`;
    menu.style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - size.width - GAP))}px`;
    items()[0]?.focus();
  };
  /** Also when it closes by itself. */
  const noteState = (event: Event) => opener()?.setAttribute("aria-expanded", String((event as ToggleEvent).newState === "open"));
  const move = (event: KeyboardEvent) => {
    const all = items();
    const now = all.indexOf(document.activeElement as HTMLButtonElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    all[(next + all.length) % all.length]?.focus();
  };
  const choose = (choice: Choice) => {
    list.current?.hidePopover();
    opener()?.focus();
    choice.act();
  };
  return (
    <>
      <span ref={button}>
        <Button small={small} aria-haspopup="menu" aria-expanded={false} aria-controls={id} title={title} onClick={toggle}>
          {label} <span aria-hidden="true">▾</span>
        </Button>
      </span>
      <div ref={list} id={id} class="menu" popover="auto" role="menu" tabIndex={-1} aria-label={title ?? label} onToggle={noteState} onKeyDown={move}>
        {choices.map((choice) => (
          <button key={choice.name} type="button" role="menuitem" tabIndex={-1} onClick={() => choose(choice)}>
            {choice.name}
          </button>
        ))}
      </div>
    </>
  );
}
