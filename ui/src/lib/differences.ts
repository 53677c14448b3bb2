// The changes of an entry of the audit log, leaf by leaf.
import { isObject } from "./json.ts";
import { amount, slotName } from "./units.ts";

/** The name of a user or project that an entry calls by its id. */
interface Name {
  label: string;
  name: string;
}

const shown = (value: unknown): string => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** When something was written is the time of the entry. */
const TIMES = ["created_at", "updated_at"];

/** Maps of slots, and those of them that hold amounts. */
const OF_SLOTS = /(^|› )(quota|limit|guarantee|capacity|available_slots|resource_weights)$/;
const isAmount = (path: string, value: unknown): value is string => OF_SLOTS.test(path) && !path.endsWith("resource_weights") && typeof value === "string" && /^\d+(\.\d+)?$/.test(value);

/** The leaves of a JSON value by their paths; what holds nothing has none. */
function leaves(value: unknown, path: string, name: (key: string) => string, into: Map<string, string>): Map<string, string> {
  if (!isObject(value)) {
    if (value !== null || path) into.set(path, shown(value));
    return into;
  }
  for (const [key, inner] of Object.entries(value).filter(([key]) => !TIMES.includes(key))) {
    const called = OF_SLOTS.test(path) ? slotName(key) : name(key);
    leaves(isAmount(path, inner) ? amount(key, inner) : inner, path ? `${path} › ${called}` : called, name, into);
  }
  return into;
}

/** The differences between before and after, leaf by leaf, with `names` in place of ids. */
export function differences(before: string | null, after: string | null, names: readonly Name[] = []): [string, string, string][] {
  const known = new Map(names.map(({ label, name }) => [label, name]));
  const read = (text: string | null): Map<string, string> => leaves(text ? (JSON.parse(text) as unknown) : null, "", (key) => known.get(key) ?? key.replace(/^(domain|queue):/, "$1 "), new Map());
  const [was, is] = [read(before), read(after)];
  const paths = [...new Set([...was.keys(), ...is.keys()])];
  const all = paths.map((path): [string, string, string] => [path, was.get(path) ?? "–", is.get(path) ?? "–"]);
  return all.filter(([, old, now]) => old !== now);
}
