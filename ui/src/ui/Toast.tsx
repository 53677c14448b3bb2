// What was just done, with a way back.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { overtaken } from "../lib/change.ts";
import { ApiError } from "../lib/client.ts";
import { Button } from "./Basics.tsx";

export interface Done {
  text: ComponentChildren;
  undo?: () => Promise<void>;
}

export const done = signal<Done | null>(null);

export function Toast() {
  const shown = done.value;
  const undo = async () => {
    done.value = null;
    await shown?.undo?.().catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      done.value = { text: `It was not undone: ${overtaken(error) ?? error.message}` };
    });
  };
  return (
    <div aria-live="polite">
      {shown && (
        <div class="toast">
          <div>{shown.text}</div>
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
