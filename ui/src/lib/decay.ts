// How much of a day's usage still counts: the server answers it for each age, so that the page has no law of decay of its own.
import { num } from "./numbers.ts";
import { daysBetween } from "./time.ts";

/** The weights of a group, by age in days: that of usage of today first. Older usage does not count. */
export type DecayWeights = string[];

/** Between 0 and 1, for usage of `day` when `today` is the last day of the look-back. */
export function weightOf(day: string, today: string, weights: DecayWeights): number {
  return num(weights[daysBetween(day, today)]);
}
