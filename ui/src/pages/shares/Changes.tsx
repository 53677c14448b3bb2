// The weights that are changed and not saved yet.
import { useState } from "preact/hooks";
import { weightFault } from "../../lib/quantity.ts";
import { SaveBar } from "../../ui/SaveBar.tsx";
import { useCurrentRows } from "./current.ts";
import { items, NO_DRAFT, rebased, type Draft, type Edit } from "./edits.ts";

const shown = (weight: string | null): string => weight ?? "default";

export function Changes({ group, draft, setDraft, remove }: { group: string; draft: Draft; setDraft: (draft: Draft) => void; remove: (key: string) => void }) {
  const all = [...draft.edits.values()];
  const faulty = all.some((edit) => weightFault(edit.weight ?? ""));
  const [isOvertaken, setOvertaken] = useState(false);
  const now = useCurrentRows(group, draft.edits, isOvertaken);
  const values = now && all.map(({ row, weight }) => ({ name: `${row.tier} ${row.name}`, begun: shown(row.configured), now: shown(now.get(row.key)?.configured ?? null), draft: shown(weight) }));
  return (
    <SaveBar
      group={group}
      title={`${all.length} ${all.length === 1 ? "weight" : "weights"} changed, not saved yet`}
      change={faulty ? null : { weights: items(all) }}
      begun={draft.begun}
      rebase={(revision, isKept) => setDraft(isKept ? rebased(draft, revision, now ?? new Map()) : { ...draft, begun: revision })}
      values={values}
      onMeanwhile={setOvertaken}
      said={`Saved: ${summary(all)}.`}
      clear={() => setDraft(NO_DRAFT)}
    >
      {all.slice(0, 8).map((edit) => (
        <span key={edit.row.key} class="pill">
          {edit.row.name}: {shown(edit.row.configured)} → {shown(edit.weight)}{" "}
          <button type="button" class="twig" style={{ width: "20px", height: "20px" }} aria-label={`Keep the weight of ${edit.row.name}`} onClick={() => remove(edit.row.key)}>
            ✕
          </button>
        </span>
      ))}
      {all.map(({ row, weight }) => {
        const fault = weightFault(weight ?? "");
        return fault && <span key={row.key} class="bad small" role="alert">{row.name}: {fault}</span>;
      })}
      {all.length > 8 && <span class="muted">and {all.length - 8} more</span>}
    </SaveBar>
  );
}

export function summary(all: Edit[]): string {
  const first = all.slice(0, 3).map((edit) => `${edit.row.name} ${shown(edit.row.configured)} → ${shown(edit.weight)}`);
  return first.join(", ") + (all.length > 3 ? ` and ${all.length - 3} more` : "");
}
