// Sentences of the server about slots, by the names and in the units that the pages use. The server calls slots as schedulers do, since
// programs read its sentences too; how people call them is a matter of the pages.
import { num, roundPercent, significant } from "./numbers.ts";
import { amountOf, hoursOf, ordered, scale, slotName } from "./units.ts";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A slot as a word of its own, and with the amount before it. */
const word = (slot: string): RegExp => new RegExp(`(?<![\\w.-])(?:(\\d+(?:\\.\\d+)?) )?\`?${escaped(slot)}\`?(?![\\w-]|\\.\\w)`, "g");

/** `768 hours of cuda.device`, `12 GiB-hours of mem` */
const hoursWord = (slot: string): RegExp => new RegExp(`(?<=\\d )(?:GiB-)?hours of ${escaped(slot)}(?![\\w-]|\\.\\w)`, "g");

/** Amounts of bytes; parts such as 1/3 are none. */
const BYTES = /(?<![\w./-])\d{5,}(\.\d+)?(?![\w/]|\.\d)/g;

/** The one slot that a statement is about: the one with an amount, since it may name others as reasons. */
function slotOf(statement: string, known: string[]): string | undefined {
  const hasAmount = (slot: string): boolean => [...statement.matchAll(word(slot))].some(([, value]) => value !== undefined);
  return known.find(hasAmount) ?? known.find((slot) => word(slot).test(statement));
}

function statementInWords(statement: string, slot: string | undefined): string {
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
    .map((statement) => statementInWords(statement, slotOf(statement, known)))
    .join("; ");
}

/** Rounding leaves such digits, which say nothing to a reader. */
const LAST_DIGIT = / \+ 0\.0+1 last digit/g;

/** Numbers, and parts such as 1/3. */
const NUMBERS = /(?<![\w./-])(\d+(?:\.\d+)?)(?:\/(\d+(?:\.\d+)?))?(?![\w/-]|\.\d)/g;
const isLong = (text: string): boolean => text.replace(/\D/g, "").replace(/^0+/, "").length > 4;

/** With four digits at most; a part of long numbers, as weights by slot are, is a percentage. */
function shortened(statement: string): string {
  return statement.replace(NUMBERS, (text, value: string, whole: string | undefined) => {
    if (!isLong(value) && !isLong(whole ?? "")) return text;
    if (whole === undefined) return significant(num(value));
    return num(whole) > 0 ? roundPercent(num(value) / num(whole)) : text;
  });
}

export interface Statement {
  text: string;
  /** As the server says it, with all digits. */
  exact: string;
  /** Nothing: it is about all of them. */
  slot: string | undefined;
}

/** The statements of why a queue gets what it gets, each to stand on a line of its own. */
export function statements(sentence: string, slots: Iterable<string>): Statement[] {
  const known = ordered(slots);
  return sentence.split("; ").map((exact) => {
    const slot = slotOf(exact, known);
    return { text: shortened(statementInWords(exact.replace(LAST_DIGIT, ""), slot)), exact, slot };
  });
}
