// Changes of one JSON value into another, as RFC 7396 has them: what is gone is `null`, and what stays is left out.
import { isObject } from "../../lib/json.ts";

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const gone = Object.keys(before).filter((key) => !(key in after));
  const changed = Object.entries(after).filter(([key, value]) => !isSame(before[key], value));
  return Object.fromEntries([...gone.map((key) => [key, null]), ...changed.map(([key, value]) => [key, mergePatch(before[key], value)])]);
}

/** The value with a change made to it. */
export function patched(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const next: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete next[key];
    else next[key] = patched(next[key], change);
  }
  return next;
}
