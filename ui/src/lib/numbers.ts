// Numbers as people read them. What the server sends is exact text; what is shown has two to four digits.

/** A text of the server as a number; `NaN` never leaves this file. */
export function num(text: string | number | null | undefined): number {
  const value = typeof text === "number" ? text : Number(text ?? 0);
  return Number.isFinite(value) ? value : 0;
}

/** Significant digits, without an exponent where that is readable; five digits and more in groups of three. */
export function significant(value: number, digits = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-6) return value.toExponential(digits - 1);
  if (size >= 10_000) return count(value);
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return trim(value.toFixed(Math.min(places, 12)));
}

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Factors near 1 differ in their distance from 1: this number of its digits is shown. */
const OF_DISTANCE = 3;
const MOST_PLACES = 12;

/** A factor between 0 and 1 with four significant digits, and more near 1; what is below 1 never reads as 1. */
export function factor(text: string): string {
  const value = num(text);
  if (value >= 1) return "1";
  if (value < 1e-6) return value === 0 ? "0" : value.toExponential(2);
  const places = Math.min(MOST_PLACES, Math.ceil(-Math.log10(1 - value)) + OF_DISTANCE - 1);
  if (value < 0.9) return value.toPrecision(4);
  const shown = value.toFixed(places);
  return Number(shown) < 1 ? shown : `0.${"9".repeat(places)}`;
}

export function percent(part: number): string {
  const value = part * 100;
  if (value === 0) return "0 %";
  if (Math.abs(value) < 0.1) return value > 0 ? "< 0.1 %" : "> −0.1 %";
  return `${Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1)} %`.replace("-", "−");
}

/** A round percentage, as scales have them: `40 %`. */
export const roundPercent = (part: number): string => `${significant(part * 100, 3)} %`;

/** A difference of two percentages, which is no percentage of anything. */
export function points(difference: number): string {
  const value = difference * 100;
  if (value === 0) return "0 pp";
  if (Math.abs(value) < 0.1) return value > 0 ? "< +0.1 pp" : "> −0.1 pp";
  return `${signed(value, (size) => size.toFixed(1))} pp`;
}

export function signed(value: number, shown: (value: number) => string): string {
  if (value === 0) return "±0";
  return (value > 0 ? "+" : "−") + shown(Math.abs(value));
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
}

/** `1 kernel`, `2 kernels`. */
export function many(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? "" : "s"}`;
}

/** A map of slots, as the server writes it. */
export type Slots = Record<string, string>;

export function slots(json: string | null | undefined): Slots {
  return json ? (JSON.parse(json) as Slots) : {};
}

/** How a fair-share factor comes about, for titles. */
export const FACTOR_FORMULA = "2 to the power of −(usage ÷ weight); under the schedulers of Slurm FairShare of sshare";
