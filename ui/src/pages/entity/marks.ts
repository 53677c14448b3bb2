// What happened while usage and ranks changed: changes of weights, gaps, runs that failed.

export interface Mark {
  /** Seconds since 1970. */
  at: number;
  /** The letter that stands at its line in a chart. */
  letter: "W" | "G" | "F";
  name: string;
}

interface Happened {
  gaps: { started_at: string; ended_at: string; kernels: number; gap_policy: string }[];
  failed: { job: string; started_at: string; error: string | null }[];
  changes: { id: string; at: string; actor: string; action: string; reason: string | null }[];
}

const seconds = (instant: string): number => Date.parse(instant) / 1000;

/** All that happened from `from` until `to` (seconds), the last first; what one entry changed of several tiers is one mark. */
export function marksOf({ gaps, failed, changes }: Happened, from: number, to: number): Mark[] {
  const once = [...new Map(changes.map((change) => [change.id, change])).values()];
  const marks: Mark[] = [
    ...once.map((change): Mark => ({ at: seconds(change.at), letter: "W", name: `${change.actor} changed a weight${change.reason ? `: “${change.reason}”` : ` (${change.action})`}` })),
    ...gaps.map((gap): Mark => ({ at: seconds(gap.started_at), letter: "G", name: `a gap until ${gap.ended_at}: ${gap.kernels} kernels, ${gap.gap_policy}` })),
    ...failed.map((run): Mark => ({ at: seconds(run.started_at), letter: "F", name: `the job ${run.job} did not succeed${run.error ? `: ${run.error}` : ""}` })),
  ];
  return marks.filter((mark) => mark.at >= from && mark.at <= to).toSorted((a, b) => b.at - a.at);
}
