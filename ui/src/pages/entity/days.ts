// Buckets of usage as a line of days, whole and as far as they still count.
import { weightOf, type DecayWeights } from "../../lib/decay.ts";
import { num, slots } from "../../lib/numbers.ts";
import { daysBetween, plusDays } from "../../lib/time.ts";
import { hours, ordered } from "../../lib/units.ts";
import type { Range } from "./range.ts";

export interface Bucket {
  period_start: string;
  period_end: string;
  resource_usage: string;
  capacity_snapshot: string;
}

export interface Days {
  days: string[];
  /** Hours of the slot's unit. */
  used: number[];
  counts: number[];
  /** The capacity of the group on that day, in the same unit; null where it is not known. */
  offered: (number | null)[];
}

export function slotsOf(buckets: Bucket[]): string[] {
  return ordered(buckets.flatMap((bucket) => Object.keys(slots(bucket.resource_usage))));
}

/** The days of a range, with what of them still counts on the day `asOf`; a bucket of several days is spread over them evenly. */
export function byDay(buckets: Bucket[], slot: string, { first, count }: Range, asOf: string, weights: DecayWeights): Days {
  const days = Array.from({ length: count }, (_, at) => plusDays(first, at));
  const used = days.map(() => 0);
  const counts = days.map(() => 0);
  const offered: (number | null)[] = days.map(() => null);
  for (const bucket of buckets) {
    const length = daysBetween(bucket.period_start, bucket.period_end) + 1;
    const usage = hours(slot, slots(bucket.resource_usage)[slot] ?? 0) / length;
    const weight = weightOf(bucket.period_start, asOf, weights);
    const capacity = slots(bucket.capacity_snapshot)[slot];
    for (let step = 0; step < length; step += 1) {
      const at = daysBetween(first, bucket.period_start) + step;
      if (at < 0 || at >= count) continue;
      used[at] = (used[at] ?? 0) + usage;
      counts[at] = (counts[at] ?? 0) + usage * weight;
      if (capacity !== undefined) offered[at] = hours(slot, num(capacity) * 86_400);
    }
  }
  return { days, used, counts, offered };
}

/** The capacity of every day: a day without a known one counts as the day before it, and the first days as the one after. */
export function filled(offered: (number | null)[]): (number | null)[] {
  let known = offered.find((value) => value !== null) ?? null;
  return offered.map((value) => (known = value ?? known));
}
