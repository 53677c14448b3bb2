// The parts of a division that have a field: the algorithm and the options that it reads.
import { isObject, type JsonObject } from "../../lib/json.ts";
import { defaultOf, facts, optionOf, type Choice, type DivisionOption } from "../../lib/metadata.ts";
import { rangeFault } from "../../lib/quantity.ts";

export interface DivisionField {
  path: string[];
  name: string;
  standard: string;
  effect: string;
  /** Without choices it is a number. */
  choices: Choice[];
  /** The range of numbers; of choices nothing. */
  range?: DivisionOption;
}

/** Kinds of options that have a field; those with lists and maps are edited as JSON. */
const FIELDS = new Set(["choice", "integer", "decimal"]);

/** The algorithm of a group that sets none. */
function usualAlgorithm(): string {
  const { algorithm } = JSON.parse(optionOf("division")?.default ?? "{}") as { algorithm?: string };
  return algorithm ?? "";
}

const algorithmField = (): DivisionField => ({ path: ["algorithm"], name: "Algorithm", standard: usualAlgorithm(), choices: facts().division_algorithms, effect: "How the capacity is divided over queues." });

function fieldOf(option: DivisionOption): DivisionField {
  const name = option.unit ? `${option.title}, ${option.unit}` : option.title;
  const field = { path: ["options", option.key], name, standard: defaultOf(option), effect: option.summary, choices: option.choices };
  return option.type === "choice" ? field : { ...field, range: option };
}

/** The fields that a division with this algorithm reads. */
export function fieldsFor(algorithm: string): DivisionField[] {
  const reads = ({ type, read_by }: DivisionOption) => FIELDS.has(type) && (read_by.length === 0 || read_by.includes(algorithm || usualAlgorithm()));
  return [algorithmField(), ...[...facts().division_options, ...facts().reclaim_options].filter(reads).map(fieldOf)];
}

/** The fault of what is typed into a field of numbers. */
export const fieldFault = ({ range }: DivisionField, text: string): string | undefined => range && rangeFault(text, range);

/** The first fault of the numbers of a division. */
export function divisionFault(division: JsonObject): string | undefined {
  const { options } = division;
  if (!isObject(options)) return undefined;
  const all = [...facts().division_options, ...facts().reclaim_options].filter(({ type }) => FIELDS.has(type)).map(fieldOf);
  return all
    .map((field) => {
      const value = options[field.path.at(-1) ?? ""];
      const fault = value === undefined || value === null ? undefined : fieldFault(field, String(value));
      return fault && `${field.name}: ${fault}`;
    })
    .find(Boolean);
}
