// The weights that are changed and not saved yet.
import { weightFault } from "../../lib/quantity.ts";
import { SaveBar } from "../../ui/SaveBar.tsx";
import { items, type Edit, type Edits } from "./edits.ts";

const shown = (weight: string | null): string => weight ?? "default";

export function Changes({ group, edits, clear, remove }: { group: string; edits: Edits; clear: () => void; remove: (key: string) => void }) {
  const all = [...edits.values()];
  const faulty = all.some((edit) => weightFault(edit.weight ?? ""));
  return (
    <SaveBar
      group={group}
      title={`${all.length} ${all.length === 1 ? "weight" : "weights"} changed, not saved yet`}
      change={faulty ? null : { weights: items(all) }}
      said={`Saved: ${summary(all)}.`}
      clear={clear}
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
