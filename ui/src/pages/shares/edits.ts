// Weights that are changed and not saved yet.
import type { WeightChange } from "../../lib/change.ts";
import { num } from "../../lib/numbers.ts";
import { weightFault } from "../../lib/quantity.ts";
import type { Row } from "./query.ts";

export interface Edit {
  row: Pick<Row, "tier" | "key" | "id" | "project" | "name" | "within" | "configured" | "weight" | "revision">;
  /** `null`: the group's default. */
  weight: string | null;
}

export type Edits = ReadonlyMap<string, Edit>;

/** Weights that are changed, and the revision at which the first of them was changed: the one of what was shown then. */
export interface Draft {
  begun: string | undefined;
  edits: Edits;
}

export const NO_DRAFT: Draft = { begun: undefined, edits: new Map() };

/** The draft with other edits. Without any it is over; the first begins it at `shown`. */
export function withEdits(draft: Draft, edits: Edits, shown: string | undefined): Draft {
  if (edits.size === 0) return NO_DRAFT;
  return { begun: draft.edits.size > 0 ? draft.begun : shown, edits };
}

/** The draft on the rows of another revision: weights that are there already are no edits any more. */
export function rebased(draft: Draft, revision: string, rows: ReadonlyMap<string, Edit["row"]>): Draft {
  const again = [...draft.edits.values()].reduce<Edits>((edits, edit) => withEdit(edits, rows.get(edit.row.key) ?? edit.row, edit.weight ?? ""), new Map());
  return withEdits(NO_DRAFT, again, revision);
}

/** The edits with one more; a weight that is as it was is no edit. */
export function withEdit(edits: Edits, shown: Edit["row"], text: string): Edits {
  const next = new Map(edits);
  // The row as it was when its edit was begun, also if a live refresh shows another weight meanwhile.
  const row = edits.get(shown.key)?.row ?? shown;
  const weight = text.trim() === "" ? null : text.trim();
  const same = weight === row.configured || (weight !== null && row.configured !== null && num(weight) === num(row.configured));
  if (same) next.delete(row.key);
  else next.set(row.key, { row, weight });
  return next;
}

/** The edits as the server takes them. */
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
