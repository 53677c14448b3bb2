// A dialog of the browser's own: it keeps the focus, and Escape closes it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./Basics.tsx";

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    // A person who opens a form goes on by typing; without one the browser takes the first button.
    dialog?.querySelector<HTMLElement>("form :is(input, select, textarea):enabled")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} onCancel={close} onClose={close}>
      <div class="body">
        <header>
          <h2 id={id}>{title}</h2>
          <Button kind="plain" small onClick={close} aria-label="Close">
            ✕
          </Button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
