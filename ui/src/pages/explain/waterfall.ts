// How a place comes about, as bars: the days one behind the other, their sum, and what weights make of it.
import type { BucketPart, Explanation } from "../../lib/explanation.ts";
import { factor, num, significant } from "../../lib/numbers.ts";

export interface Step {
  name: string;
  /** Where the bar begins and how long it is, as parts of the longest. */
  from: number;
  length: number;
  shown: string;
  kind: "part" | "sum" | "then";
  /** The whole of which the bar is a part, where that is no day. */
  title?: string;
}

/** The buckets as bars that begin where those before end, and their sum. The smallest are put together. */
export function waterfall(buckets: BucketPart[], most = 14): Step[] {
  const total = buckets.reduce((sum, bucket) => sum + Number(bucket.contribution), 0);
  if (total <= 0) return [];
  const largest = buckets.toSorted((a, b) => Number(b.contribution) - Number(a.contribution)).slice(0, most);
  const kept = new Set(largest.filter((bucket) => Number(bucket.contribution) > 0));
  const rest = buckets.filter((bucket) => !kept.has(bucket));
  const restSum = rest.reduce((sum, bucket) => sum + Number(bucket.contribution), 0);
  const steps: Step[] = [];
  let at = 0;
  const add = (name: string, contribution: number) => {
    steps.push({ name, from: at / total, length: contribution / total, shown: `${((100 * contribution) / total).toFixed(1)} %`, kind: "part" });
    at += contribution;
  };
  if (restSum > 0) add(rest.length === 1 ? "1 other day" : `${rest.length} other days`, restSum);
  for (const bucket of buckets) if (kept.has(bucket)) add(bucket.period_start, Number(bucket.contribution));
  steps.push({ name: "all that counts", from: 0, length: 1, shown: total.toPrecision(4), kind: "sum" });
  return steps;
}

/** The steps after the sum of the days: the weight that divides it, the factor, the place in the line. */
export function conclusion({ formula, place, of, buckets }: Pick<Explanation, "formula" | "place" | "of" | "buckets">): Step[] {
  const total = buckets.reduce((sum, bucket) => sum + num(bucket.contribution), 0);
  const exponent = num(formula.exponent);
  const steps: Step[] = [
    {
      name: `÷ weight ${significant(num(formula.effective_weight))}`,
      from: 0,
      length: total > 0 ? Math.min(1, exponent / total) : 0,
      shown: significant(exponent),
      kind: "then",
      title: exponent > total ? "Drawn as wide as all that counts, as it is more than that" : "Drawn beside all that counts",
    },
    { name: "→ factor", from: 0, length: num(formula.fair_share_factor), shown: factor(formula.fair_share_factor), kind: "then", title: "2 to the power of minus the line above; a full bar is the factor 1" },
  ];
  if (place !== null && of > 0) steps.push({ name: "→ place", from: (place - 1) / of, length: 1 / of, shown: `${place} of ${of}`, kind: "then", title: "The first place is at the left, the last at the right" });
  return steps;
}
