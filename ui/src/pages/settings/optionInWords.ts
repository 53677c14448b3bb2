// The value of an option in words.
import { isObject, type JsonObject } from "../../lib/json.ts";
import type { Option } from "../../lib/metadata.ts";
import { ordered, slotName } from "../../lib/units.ts";
import { keysOf, partOf } from "./maps.ts";
import { isMap } from "./options.ts";

/** The leaves of a map, each with the last part of its path. */
function leaves(map: JsonObject): [string, string][] {
  return Object.entries(map).flatMap(([key, inner]): [string, string][] => (isObject(inner) ? leaves(inner) : [[key, typeof inner === "string" ? inner : JSON.stringify(inner)]]));
}

export function optionInWords(option: Option, text: string): string {
  if (text.trim() === "") return "default";
  if (option.type === "amounts") return ordered(keysOf(text)).map((slot) => `${slotName(slot)} ${partOf(text, [slot])}`).join(", ") || "default";
  if (!isMap(option)) return text.trim();
  try {
    return leaves(JSON.parse(text) as JsonObject).map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`).join(", ") || "default";
  } catch {
    return text.trim();
  }
}
