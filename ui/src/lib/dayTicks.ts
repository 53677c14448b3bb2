// Which days the time axis of a chart names. Days of the server are days of UTC, so the zone of the reader has no part in it.

const DAY = 86_400;
/** 5 January 1970: weeks begin on Mondays. */
const MONDAY = 4 * DAY;

type Every = (from: number, to: number) => number[];

const days = (step: number): Every => (from, to) => {
  const size = step * DAY;
  const found: number[] = [];
  for (let at = MONDAY + Math.ceil((from - MONDAY) / size) * size; at <= to; at += size) found.push(at);
  return found;
};

/** The first days of months. */
const months = (step: number): Every => (from, to) => {
  const start = new Date(from * 1000);
  const found: number[] = [];
  const first = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / step) * step;
  const at = (month: number): number => Date.UTC(Math.floor(month / 12), month % 12) / 1000;
  for (let month = first; at(month) <= to; month += step) found.push(at(month));
  // The month of `from` may have begun before it.
  return found.filter((day) => day >= from);
};

const STEPS = [...[1, 2, 4, 7, 14].map(days), ...[1, 2, 3, 6, 12, 24, 60, 120].map(months)];

/** The part of a time axis that holds all moments: half a day more on each side where bars stand at them, or where there is one moment only. */
export function dayRange(times: readonly number[], hasBars: boolean): [number, number] {
  const [first = 0, last = first] = [times[0], times.at(-1)];
  return hasBars || first === last ? [first - DAY / 2, last + DAY / 2] : [first, last];
}

/** The days between two moments that are named, as near to one another as this number of labels fits (at least two). All times are seconds since 1970. */
export function dayTicks(from: number, to: number, fitting: number): number[] {
  const most = Math.max(2, fitting);
  for (const every of STEPS) {
    const found = every(from, to);
    if (found.length <= most) return found;
  }
  return [];
}
