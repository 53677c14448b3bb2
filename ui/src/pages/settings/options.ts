// The options of a group as texts to edit, by what the server says of them.
import { isObject, type JsonObject } from "../../lib/json.ts";
import { defaultOf, facts, type Option } from "../../lib/metadata.ts";
import { amountFault, rangeFault, weightFault } from "../../lib/quantity.ts";
import { partsFault } from "./parts.ts";

export interface Section {
  title: string;
  options: Option[];
}

/** The options by the titles with which the server lists them. */
export function sections(): Section[] {
  const titles = [...new Set(facts().options.map(({ section }) => section ?? ""))];
  return titles.map((title) => ({ title, options: facts().options.filter(({ section }) => (section ?? "") === title) }));
}

/** An option whose value is JSON. */
export const isMap = ({ type }: Option): boolean => type === "amounts" || type === "object";

/** What an empty field stands for. */
export const placeholderOf = (option: Option): string => defaultOf(option);

/** The value of an option as a text to edit; an option that is not set is empty. */
export function text(option: Option, configured: Record<string, unknown>): string {
  const value = configured[option.key];
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function slotsFault(weights: JsonObject): string | undefined {
  return Object.values(weights).map((weight) => amountFault(String(weight))).find(Boolean);
}

/** The fault of a number. */
function numberFault(option: Option, text: string): string | undefined {
  return option.key === "default_weight" ? weightFault(text) : rangeFault(text, option);
}

/** The value of an edited text, or its fault. */
export function parse(option: Option, edited: string): { value: unknown } | { fault: string } {
  const trimmed = edited.trim();
  if (trimmed === "") return { value: null };
  if (option.minimum !== null) {
    const fault = numberFault(option, trimmed);
    return fault ? { fault } : { value: option.type === "integer" ? Number(trimmed) : trimmed };
  }
  if (!isMap(option)) return { value: trimmed };
  try {
    const value: unknown = JSON.parse(trimmed);
    if (!isObject(value)) return { fault: "An object in JSON." };
    const fault = option.type === "amounts" ? slotsFault(value) : partsFault(option, value);
    return fault ? { fault } : { value };
  } catch {
    return { fault: "This is not JSON yet." };
  }
}
