// A text of the server as a sentence of a page: it begins and ends as one, and its numbers are as short as others are.
import { significant } from "./numbers.ts";

/** Decimals with more digits than a person reads. */
const LONG = /(?<![\w.])\d+\.\d{5,}(?![\w.])/g;

/** Numbers of a sentence with six digits; the exact ones belong into a title. */
export function shortened(text: string): string {
  return text.replace(LONG, (number) => significant(Number(number), 6));
}

/** The parts of a sentence; those with an odd place stood between backticks, and are names. */
export function sentence(text: string): string[] {
  const short = shortened(text.trim());
  const ended = /[.!?:]$/.test(short) ? short : `${short}.`;
  return (ended.charAt(0).toUpperCase() + ended.slice(1)).split("`");
}
