// A change of one JSON value into another, as RFC 7396 has it: what is gone is `null`.
import { isObject } from "../../lib/json.ts";

export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const gone = Object.keys(before).filter((key) => !(key in after));
  return Object.fromEntries([...gone.map((key) => [key, null]), ...Object.entries(after).map(([key, value]) => [key, mergePatch(before[key], value)])]);
}
