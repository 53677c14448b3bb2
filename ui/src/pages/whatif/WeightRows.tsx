// The weights of a scenario, each beside the one that is in force.
import { weightFault } from "../../lib/quantity.ts";
import { Button, Card, Field, Select } from "../../ui/Basics.tsx";
import { Remove, replaced, type Part } from "./parts.tsx";
import { useUserWeight, type WeightNow } from "./weightNow.ts";

type Row = Part["scenario"]["weights"][number];

const NEW: Row = { tier: "domain", name: "", project: "", weight: "" };

export function Weights({ scenario, set, group, known }: Part & { group: string; known: WeightNow[] }) {
  const rows = scenario.weights;
  return (
    <Card title="Weights" aside={<Button small onClick={() => set({ weights: [...rows, NEW] })}>Add a weight</Button>}>
      {rows.length === 0 && <p class="muted small">None is changed.</p>}
      {rows.map((row, at) => (
        <OneWeight key={at} group={group} row={row} known={known} edit={(next) => set({ weights: replaced(rows, at, { ...row, ...next }) })} remove={() => set({ weights: replaced(rows, at, null) })} />
      ))}
    </Card>
  );
}

interface OneProps {
  group: string;
  row: Row;
  known: WeightNow[];
  edit: (next: Partial<Row>) => void;
  remove: () => void;
}

function OneWeight({ group, row, known, edit, remove }: OneProps) {
  const ofUser = useUserWeight(group, row);
  const now = row.tier === "user" ? ofUser : known.find(({ tier, name }) => tier === row.tier && name === row.name);
  const about = now && `Now ${now.weight}${now.isSet ? "" : ", the default"}.`;
  const isNamed = row.name !== "" && (row.tier !== "user" || row.project !== "");
  const unknown = isNamed && !now ? `No ${row.tier} of this name is known${row.tier === "user" ? " in this project" : ""}.` : undefined;
  return (
    <div class="row entry labelled">
      <div style={{ width: "110px" }}>
        <Field label="Tier">{(props) => <Select {...props} options={[["domain", "domain"], ["project", "project"], ["user", "user"]]} value={row.tier} onChange={(event) => edit({ tier: event.currentTarget.value as Row["tier"] })} />}</Field>
      </div>
      <div style={{ flex: "1 1 120px" }}>
        <Field label={`Name of the ${row.tier}`} fault={unknown}>{(props) => <input {...props} list={row.tier === "user" ? undefined : `${row.tier}s`} value={row.name} onInput={(event) => edit({ name: event.currentTarget.value })} />}</Field>
      </div>
      {row.tier === "user" && (
        <div style={{ flex: "1 1 110px" }}>
          <Field label="Project of the user">{(props) => <input {...props} list="projects" value={row.project} onInput={(event) => edit({ project: event.currentTarget.value })} />}</Field>
        </div>
      )}
      <div style={{ width: "150px" }}>
        <Field label="New weight" hint={about} fault={weightFault(row.weight)}>
          {(props) => <input {...props} inputMode="decimal" placeholder="the default" value={row.weight} onInput={(event) => edit({ weight: event.currentTarget.value })} />}
        </Field>
      </div>
      <Remove what={`the weight of ${row.name}`} act={remove} />
    </div>
  );
}
