// Options that are maps, part by part. A text of JSON stays what is edited, so that what no field shows stays as it is.

type Values = Record<string, unknown>;

function read(text: string): Values {
  try {
    const value: unknown = JSON.parse(text || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : {};
  } catch {
    return {};
  }
}

const isMap = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at `path`, as a text to edit; nothing where there is none. */
export function partOf(text: string, path: string[]): string {
  const found = path.reduce<unknown>((value, key) => (isMap(value) ? value[key] : undefined), read(text));
  return found === undefined || found === null || typeof found === "object" ? "" : String(found);
}

function put(map: Values, [key = "", ...rest]: string[], value: unknown): Values {
  const { [key]: old, ...others } = map;
  const next = rest.length > 0 ? put(isMap(old) ? old : {}, rest, value) : value;
  const isNothing = next === undefined || (isMap(next) && Object.keys(next).length === 0);
  return isNothing ? others : { ...map, [key]: next };
}

/** The text with another value at `path`; `undefined` takes it away. A map of nothing is no text. */
export function withPart(text: string, path: string[], value: string | number | undefined): string {
  const next = put(read(text), path, value);
  return Object.keys(next).length > 0 ? JSON.stringify(next) : "";
}

/** The keys of a map. */
export const keysOf = (text: string): string[] => Object.keys(read(text));
