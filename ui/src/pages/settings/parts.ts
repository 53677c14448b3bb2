// The parts of an option that is an object, as far as they have a field.
import { isObject, type JsonObject } from "../../lib/json.ts";
import { defaultOf, facts, optionOf, type Choice, type Option, type PartOption } from "../../lib/metadata.ts";
import { rangeFault } from "../../lib/quantity.ts";

export interface PartField {
  path: string[];
  name: string;
  standard: string;
  effect: string;
  /** Without choices it is a number. */
  choices: Choice[];
  /** The range of numbers; of choices nothing. */
  range?: PartOption;
}

/** Kinds of options that have a field; those with lists and maps are edited as JSON. */
const FIELDS = new Set(["choice", "integer", "decimal"]);

/** The algorithm of a group that sets none. */
function usualAlgorithm(): string {
  const { algorithm } = JSON.parse(optionOf("division")?.default ?? "{}") as { algorithm?: string };
  return algorithm ?? "";
}

const algorithmField = (): PartField => ({ path: ["algorithm"], name: "Algorithm", standard: usualAlgorithm(), choices: facts().division_algorithms, effect: "How the capacity is divided over queues." });

function fieldOf(option: PartOption, path: string[]): PartField {
  const name = option.unit ? `${option.title}, ${option.unit}` : option.title;
  const field = { path: [...path, option.key], name, standard: defaultOf(option), effect: option.summary, choices: option.choices };
  return option.type === "choice" ? field : { ...field, range: option };
}

const hasField = ({ type }: PartOption): boolean => FIELDS.has(type);

/** The fields of a division with any algorithm. */
const divisionOptions = (): PartOption[] => [...facts().division_options, ...facts().reclaim_options].filter(hasField);

/** The fields of the option: of a division those that its algorithm reads. */
export function fieldsFor(option: Option, algorithm: string): PartField[] {
  if (option.key !== "division") return option.options.filter(hasField).map((part) => fieldOf(part, []));
  const isRead = ({ read_by }: PartOption) => read_by.length === 0 || read_by.includes(algorithm || usualAlgorithm());
  return [algorithmField(), ...divisionOptions().filter(isRead).map((part) => fieldOf(part, ["options"]))];
}

/** The fault of what is typed into a field of numbers. */
export const fieldFault = ({ range }: PartField, text: string): string | undefined => range && rangeFault(text, range);

/** The first fault of the numbers of an option that is an object. */
export function partsFault(option: Option, value: JsonObject): string | undefined {
  const isDivision = option.key === "division";
  const parts = isDivision ? value.options : value;
  if (!isObject(parts)) return undefined;
  const all = (isDivision ? divisionOptions() : option.options.filter(hasField)).map((part) => fieldOf(part, []));
  return all
    .map((field) => {
      const part = parts[field.path.at(-1) ?? ""];
      const fault = part === undefined || part === null ? undefined : fieldFault(field, String(part));
      return fault && `${field.name}: ${fault}`;
    })
    .find(Boolean);
}
