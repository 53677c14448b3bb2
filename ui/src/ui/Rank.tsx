// A rank with its movement since the day before: an arrow, a number and words, so that no colour is needed.
import { count } from "../lib/numbers.ts";
import { movement } from "../lib/movement.ts";
import { plusDays } from "../lib/time.ts";

export interface Ranked {
  rank: number | null;
  previous_rank: number | null;
  /** The day of the last calculation. */
  lookback_end: string | null;
}

export function Movement({ of }: { of: Ranked }) {
  const moved = movement(of.rank, of.previous_rank, of.lookback_end && plusDays(of.lookback_end, -1));
  if (!moved) return null;
  return (
    <span class={`moved ${moved.by > 0 ? "up" : moved.by < 0 ? "down" : "muted"}`} title={moved.said}>
      <span aria-hidden="true">{moved.mark}</span>
      <span class="visually-hidden">, {moved.said}</span>
    </span>
  );
}

/** `14 of 57 ▲ 3` */
export function Rank({ of, among }: { of: Ranked; among: number | null }) {
  if (of.rank === null) return <>–</>;
  return (
    <>
      {of.rank} {among !== null && <small class="muted wide-only">of {count(among)}</small>} <Movement of={of} />
    </>
  );
}
