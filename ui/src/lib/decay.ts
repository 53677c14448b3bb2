// How much of a day's usage still counts, as the server does it (`docs/FAIR_SHARE.md` §6).
import { daysBetween } from "./time.ts";

export interface DecayOptions {
  decay: string;
  half_life_days: number;
  lookback_days: number;
}

/** Between 0 and 1, for usage of `day` when `today` is the last day of the look-back. */
export function weightOf(day: string, today: string, options: DecayOptions): number {
  const age = daysBetween(day, today);
  if (age < 0 || age >= options.lookback_days) return 0;
  const halves = age / options.half_life_days;
  return 0.5 ** (options.decay === "flat" ? Math.floor(halves) : halves);
}
