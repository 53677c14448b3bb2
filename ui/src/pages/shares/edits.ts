// Weights that are changed and not saved yet.
import type { WeightChange } from "../../lib/change.ts";
import { num } from "../../lib/numbers.ts";
import { weightFault } from "../../lib/quantity.ts";
import type { Row } from "./query.ts";

export interface Edit {
  row: Pick<Row, "tier" | "key" | "id" | "project" | "name" | "within" | "configured" | "weight">;
  /** `null`: the group's default. */
  weight: string | null;
}

export type Edits = ReadonlyMap<string, Edit>;

/** The edits with one more; a weight that is as it was is no edit. */
export function withEdit(edits: Edits, row: Edit["row"], text: string): Edits {
  const next = new Map(edits);
  const weight = text.trim() === "" ? null : text.trim();
  const same = weight === row.configured || (weight !== null && row.configured !== null && num(weight) === num(row.configured));
  if (same) next.delete(row.key);
  else next.set(row.key, { row, weight });
  return next;
}

/** What the server takes. */
export function items(edits: Iterable<Edit>): WeightChange[] {
  const item = ({ row, weight }: Edit): WeightChange => ({
    target_type: row.tier,
    target_id: row.id,
    ...(row.project ? { project_id: row.project } : {}),
    weight,
  });
  return [...edits].map(item);
}

export interface Pasted {
  tier: Row["tier"];
  name: string;
  project: string | null;
  weight: string;
}

/** Lines such as `domain research 2`, `project vision 1.5`, `user alice vision default`. Where commas, semicolons or tabs separate, names may have spaces. */
export function readPaste(text: string): { rows: Pasted[]; faults: string[] } {
  const rows: Pasted[] = [];
  const faults: string[] = [];
  text.split("\n").forEach((line, at) => {
    const words = line.trim().split(/[,;\t]/.test(line.trim()) ? /\s*[,;\t]\s*/ : /\s+/).filter(Boolean);
    if (words.length === 0 || line.trim().startsWith("#")) return;
    const [tier, name, ...rest] = words;
    const weight = rest.at(-1) ?? "";
    const set = weight === "default" ? "" : weight;
    const complete = name && ((tier === "user" && rest.length === 2) || ((tier === "domain" || tier === "project") && rest.length === 1));
    if (!complete) faults.push(`Line ${at + 1}: write “domain NAME WEIGHT”, “project NAME WEIGHT” or “user NAME PROJECT WEIGHT”.`);
    else if (weightFault(set)) faults.push(`Line ${at + 1}: ${weightFault(set)}`);
    else rows.push({ tier: tier as Row["tier"], name, project: tier === "user" ? (rest[0] ?? null) : null, weight: set });
  });
  return { rows, faults };
}
