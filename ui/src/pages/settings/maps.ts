// Options that are maps, part by part. A text of JSON stays what is edited, so that what no field shows stays as it is.
import { isObject, type JsonObject } from "../../lib/json.ts";

function read(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text || "{}");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The value at `path`, as a text to edit; nothing where there is none. */
export function partOf(text: string, path: string[]): string {
  const found = path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), read(text));
  return found === undefined || found === null || typeof found === "object" ? "" : String(found);
}

function put(map: JsonObject, [key = "", ...rest]: string[], value: unknown): JsonObject {
  const { [key]: old, ...others } = map;
  const next = rest.length > 0 ? put(isObject(old) ? old : {}, rest, value) : value;
  const isNothing = next === undefined || (isObject(next) && Object.keys(next).length === 0);
  return isNothing ? others : { ...map, [key]: next };
}

/** The text with another value at `path`; `undefined` takes it away. A map of nothing is no text. */
export function withPart(text: string, path: string[], value: string | number | undefined): string {
  const next = put(read(text), path, value);
  return Object.keys(next).length > 0 ? JSON.stringify(next) : "";
}

/** The keys of a map. */
export const keysOf = (text: string): string[] => Object.keys(read(text));
