// What the server says about slots, by the names and in the units that the pages use. The server calls slots as schedulers do, since
// programs read its sentences too; how people call them is a matter of the pages.
import { num, significant } from "./numbers.ts";
import { amountOf, hoursOf, ordered, scale, slotName } from "./units.ts";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A slot as a word of its own, and with the amount before it. */
const word = (slot: string): RegExp => new RegExp(`(?<![\\w.-])(?:(\\d+(?:\\.\\d+)?) )?\`?${escaped(slot)}\`?(?![\\w-]|\\.\\w)`, "g");

/** `768 hours of cuda.device`, `12 GiB-hours of mem` */
const hoursWord = (slot: string): RegExp => new RegExp(`(?<=\\d )(?:GiB-)?hours of ${escaped(slot)}(?![\\w-]|\\.\\w)`, "g");

/** Amounts of bytes; parts such as 1/3 are none. */
const BYTES = /(?<![\w./-])\d{5,}(\.\d+)?(?![\w/]|\.\d)/g;

/** One statement is about one slot. */
function told(statement: string, known: string[]): string {
  const slot = known.find((name) => word(name).test(statement));
  if (!slot) return statement;
  const inHours = statement.replace(hoursWord(slot), hoursOf(slot));
  if (inHours !== statement) return inHours;
  const named = statement.replace(word(slot), (_, value: string | undefined) => (value === undefined ? withinSentence(slot) : amountOf(slot, value)));
  return scale(slot) === 1 ? named : named.replace(BYTES, (bytes) => `${significant(num(bytes) / scale(slot))} GiB`);
}

const withinSentence = (slot: string): string => (slot === "mem" ? "memory" : slotName(slot));

/** A sentence about these slots; what it says of several stands between semicolons. */
export function inWords(sentence: string, slots: Iterable<string>): string {
  const known = ordered(slots);
  return sentence
    .split("; ")
    .map((statement) => told(statement, known))
    .join("; ");
}

/** Rounding leaves such digits, which say nothing to a reader. */
const LAST_DIGIT = / \+ 0\.0+1 last digit/g;

/** The statements of a sentence, each to stand on a line of its own. */
export function statements(sentence: string, slots: Iterable<string>): string[] {
  return inWords(sentence.replace(LAST_DIGIT, ""), slots).split("; ");
}
