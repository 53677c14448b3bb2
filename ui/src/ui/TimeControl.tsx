// Now, or a past day as far as history has it.
import { plusDays, shortDay } from "../lib/time.ts";
import { Button } from "./Basics.tsx";

interface TimeProps {
  /** `null`: now. */
  day: string | null;
  choose: (day: string | null) => void;
  /** The last day that may be chosen. */
  last: string;
}

export function TimeControl({ day, choose, last }: TimeProps) {
  return (
    <div class="row time" role="group" aria-label="Which time is shown">
      <Button small aria-pressed={day === null} onClick={() => choose(null)}>
        Now (live)
      </Button>
      <label class="row">
        <span class="small">or a past day</span>
        <input class="input" type="date" max={last} value={day ?? ""} onChange={(event) => choose(event.currentTarget.value || null)} />
      </label>
      {day !== null && (
        <>
          <Button small aria-label="The day before" onClick={() => choose(plusDays(day, -1))}>
            ‹
          </Button>
          <Button small aria-label="The day after" disabled={day >= last} onClick={() => choose(plusDays(day, 1))}>
            ›
          </Button>
          <span class="pill warn">as of {shortDay(day)}, UTC; nothing can be changed here</span>
        </>
      )}
    </div>
  );
}
