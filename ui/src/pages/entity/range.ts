// The days that the charts of an entity show: a number of days until the last one, or from one day to another.
import { useMemo } from "preact/hooks";
import { readDay } from "../../lib/past.ts";
import { useParams } from "../../lib/route.ts";
import { daysBetween, plusDays } from "../../lib/time.ts";

export interface Range {
  /** Both are included. */
  first: string;
  last: string;
  count: number;
}

/** The most that the server sums by day. */
const MOST_DAYS = 366;
const USUAL_DAYS = 28;

/** The range that an address names; `last` is the last day that there is. */
export function useRange(last: string): Range {
  const [params] = useParams();
  const [from, to, days] = [params.get("from"), params.get("to"), params.get("days")];
  return useMemo(() => rangeOf({ from, to, days }, last), [from, to, days, last]);
}

export function rangeOf({ from, to, days }: Record<"from" | "to" | "days", string | null>, last: string): Range {
  const end = readDay(to, last) ?? last;
  const begin = readDay(from, end);
  const wished = begin ? daysBetween(begin, end) + 1 : Math.floor(Number(days ?? USUAL_DAYS));
  const count = Math.min(MOST_DAYS, wished > 0 ? wished : USUAL_DAYS);
  return { first: plusDays(end, 1 - count), last: end, count };
}
