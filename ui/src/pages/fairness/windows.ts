// Windows of fairness as days.
import { plusDays } from "../../lib/time.ts";

/** How many days a window like `7d` has; 0 of one that is no whole days. */
export function daysOf(window: string): number {
  return Number(/^(\d+)d$/.exec(window)?.[1] ?? 0);
}

/** A window in words: `now`, `last hour`, `7 days`. */
export function windowName(window: string): string {
  const [, count, unit] = /^(\d+)([hd])$/.exec(window) ?? [];
  if (!count) return window;
  const name = unit === "h" ? "hour" : "day";
  return count === "1" ? `last ${name}` : `${count} ${name}s`;
}

/** The window of this number of days of which the last is `day`. */
export function endingAt(day: string, days: number): string {
  return `${plusDays(day, 1 - days)}..${day}`;
}
