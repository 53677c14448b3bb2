// Events beside usage and ranks: changes of weights, gaps, runs that failed.
import { gapPolicy } from "../../lib/gaps.ts";
import { many } from "../../lib/numbers.ts";

export interface Mark {
  /** Seconds since 1970. */
  at: number;
  /** Its day of UTC begins here: what is shown by day has its mark there. */
  day: number;
  /** The letter that stands at its line in a chart. */
  letter: "W" | "G" | "F";
  name: string;
}

interface Happened {
  gaps: { started_at: string; ended_at: string; kernels: number; gap_policy: string }[];
  failed: { job: string; started_at: string; error: string | null }[];
  changes: { id: string; at: string; actor: string; action: string; reason: string | null }[];
}

/** The meaning of each letter. */
export const LETTERS: Record<Mark["letter"], string> = { W: "a weight changed", G: "a gap in recording", F: "a job failed" };

const DAY = 86_400;

function mark(instant: string, letter: Mark["letter"], name: string): Mark {
  const at = Date.parse(instant) / 1000;
  return { at, day: Math.floor(at / DAY) * DAY, letter, name };
}

/** All that happened from `from` until `to` (seconds), the last first; what one entry changed of several tiers is one mark. */
export function marksOf({ gaps, failed, changes }: Happened, from: number, to: number): Mark[] {
  const once = [...new Map(changes.map((change) => [change.id, change])).values()];
  const marks: Mark[] = [
    ...once.map((change) => mark(change.at, "W", `${change.actor} changed a weight${change.reason ? `: “${change.reason}”` : ` (${change.action})`}`)),
    ...gaps.map((gap) => mark(gap.started_at, "G", `a gap until ${gap.ended_at}: ${many(gap.kernels, "kernel")}, ${gapPolicy(gap.gap_policy)}`)),
    ...failed.map((run) => mark(run.started_at, "F", `the job ${run.job} did not succeed${run.error ? `: ${run.error}` : ""}`)),
  ];
  return marks.filter(({ at }) => at >= from && at <= to).toSorted((a, b) => b.at - a.at);
}
