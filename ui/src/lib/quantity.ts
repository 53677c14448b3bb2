// Numbers as they are typed: the fault of a text, and the exact text that the server takes for it. An empty text is no number, and
// not zero: each form says what it means there.
import { facts } from "./metadata.ts";
import { scale } from "./units.ts";

const DECIMAL = /^(\d+\.?\d*|\.\d+)$/;
const AS_AN_EXAMPLE = "such as 2 or 0.5";

/** The fault of a number that may be 0, but not below. */
export function amountFault(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "" || DECIMAL.test(trimmed)) return undefined;
  if (/^[-−]\s*(\d+\.?\d*|\.\d+)$/.test(trimmed)) return "This is below 0. Write 0 or more.";
  return `“${trimmed}” is not a number. Write one ${AS_AN_EXAMPLE}.`;
}

/** The fault of a whole number in a range, its ends included. */
export function wholeFault(text: string, low: number, high: number): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const isWhole = /^[-−]?\d+$/.test(trimmed);
  const value = Number(trimmed.replace("−", "-"));
  return isWhole && value >= low && value <= high ? undefined : `Write a whole number from ${low} to ${high}.`;
}

/** The range of a number, as the server has it: texts, so that no digit is lost. */
export interface NumberRange {
  minimum: string | null;
  maximum: string | null;
  decimals: number | null;
}

/** A decimal in units of its last place; `undefined` if it has more places. */
function units(text: string, places: number): bigint | undefined {
  const [whole = "", part = ""] = text.split(".");
  return part.replace(/0+$/, "").length > places ? undefined : BigInt(`${whole}${part.replace(/0+$/, "").padEnd(places, "0")}` || "0");
}

/** The place of a decimal that is at least 0 in a range: below, inside or above. `undefined`: it has too many decimals. */
function placeIn(text: string, { minimum, maximum, decimals }: NumberRange): -1 | 0 | 1 | undefined {
  const places = decimals ?? 0;
  const value = units(text, places);
  if (value === undefined) return undefined;
  if (value < (units(minimum ?? "0", places) ?? 0n)) return -1;
  return maximum !== null && value > (units(maximum, places) ?? 0n) ? 1 : 0;
}

/** The fault of a number that has a range; an empty text is no number. */
export function rangeFault(text: string, range: NumberRange): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (range.decimals === 0) return wholeFault(trimmed, Number(range.minimum), Number(range.maximum));
  const place = DECIMAL.test(trimmed) ? placeIn(trimmed, range) : 0;
  return amountFault(trimmed) ?? (place === 0 ? undefined : `Write a number from ${range.minimum} to ${range.maximum}, with at most ${range.decimals} decimals.`);
}

/** The fault of a weight of a domain, project or user; an empty one means the default. */
export function weightFault(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const { weight } = facts();
  const place = DECIMAL.test(trimmed) ? placeIn(trimmed, weight) : undefined;
  if (place === undefined) return `A weight is a number with at most ${weight.decimals} decimals, such as 0.5 or 20.`;
  if (place === 0) return undefined;
  return place < 0 ? `A weight is at least ${weight.minimum}.` : `A weight is at most ${weight.maximum}.`;
}

/** Powers of two have as many decimals, divided, as they have factors. */
const MAX_PLACES = 30;

/** `digits` without their last `places`, as a decimal. */
function decimal(digits: bigint, places: number): string {
  const text = digits.toString().padStart(places + 1, "0");
  const [whole, part] = [text.slice(0, text.length - places), text.slice(text.length - places).replace(/0+$/, "")];
  return part === "" ? whole : `${whole}.${part}`;
}

/** A decimal as a whole number of its last place. */
function read(text: string): { digits: bigint; places: number } {
  const [whole = "", part = ""] = text.trim().split(".");
  return { digits: BigInt(`${whole}${part}` || "0"), places: part.length };
}

/** An amount in the unit that people read as the server counts it, to the last digit. A text that is not a number stays as it is. */
export function countedAmount(slot: string, text: string): string {
  if (!DECIMAL.test(text.trim())) return text.trim();
  const { digits, places } = read(text);
  return decimal(digits * BigInt(scale(slot)), places);
}

/** An amount of the server in the unit that people read, to the last digit. A text that is not a number stays as it is. */
export function typedAmount(slot: string, text: string): string {
  if (scale(slot) === 1 || !DECIMAL.test(text.trim())) return text.trim();
  const { digits, places } = read(text);
  return decimal((digits * 10n ** BigInt(MAX_PLACES)) / BigInt(scale(slot)), places + MAX_PLACES);
}
