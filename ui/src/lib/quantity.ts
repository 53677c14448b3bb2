// Numbers as they are typed: the fault of a text, and the exact text that the server takes for it. An empty text is no number, and
// not zero: each form says what it means there.
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

/** The fault of a weight of a domain, project or user; an empty one means the default. */
export function weightFault(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (!/^\d{1,6}(\.\d{1,4})?$/.test(trimmed)) return "A weight is a number with at most 4 decimals, such as 0.5 or 20.";
  if (Number(trimmed) <= 0) return "A weight is above 0.";
  return undefined;
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
