// How far a domain, project or user has moved in a ranking since the day before.
import { shortDay } from "./time.ts";

export interface Movement {
  /** Ranks gained; below 0: ranks lost. */
  by: number;
  /** An arrow with the number of ranks; nothing for who has not moved. */
  mark: string;
  /** In words, with the day that it is compared with. */
  said: string;
}

/** `null` where one of the ranks is not known. `since`: the day that left the rank of before. */
export function movement(rank: number | null, before: number | null, since: string | null): Movement | null {
  if (rank === null || before === null) return null;
  const by = before - rank;
  const when = since ? ` since the end of ${shortDay(since)}` : "";
  if (by === 0) return { by, mark: "", said: `the same rank${when}` };
  const ranks = `${Math.abs(by)} ${Math.abs(by) === 1 ? "rank" : "ranks"}`;
  return { by, mark: `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`, said: `${by > 0 ? "up" : "down"} ${ranks}${when}, from rank ${before}` };
}
