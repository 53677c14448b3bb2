// A change of one JSON value into another, as RFC 7396 has it: what is gone is `null`.

type Values = Record<string, unknown>;

const isMap = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isMap(before) || !isMap(after)) return after;
  const gone = Object.keys(before).filter((key) => !(key in after));
  return Object.fromEntries([...gone.map((key) => [key, null]), ...Object.entries(after).map(([key, value]) => [key, mergePatch(before[key], value)])]);
}
