// The last change, the warnings of the server about it, and a way back. It stays until a person closes it or writes something else.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { overtaken, type Written } from "../lib/change.ts";
import { ApiError, type WriteWarning } from "../lib/client.ts";
import { Button } from "./Basics.tsx";
import { WriteWarnings } from "./WriteWarnings.tsx";

export interface Done {
  text: ComponentChildren;
  warnings?: WriteWarning[];
  undo?: Written["undo"];
}

export const done = signal<Done | null>(null);

export function Toast() {
  const shown = done.value;
  const undo = async () => {
    done.value = null;
    try {
      const warnings = await shown?.undo?.();
      done.value = { text: "It is undone.", warnings: warnings ?? [] };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      done.value = { text: `It was not undone: ${overtaken(error) ?? error.message}` };
    }
  };
  return (
    <div aria-live="polite">
      {shown && (
        <div class="toast">
          <div>{shown.text}</div>
          <WriteWarnings warnings={shown.warnings ?? []} />
          <div class="row">
            {shown.undo && <Button small onClick={undo}>Undo</Button>}
            <Button small kind="plain" onClick={() => (done.value = null)}>
              Close
            </Button>
          </div>
        </div>
      )}
    </div>
  );
}
