// Many weights at once, pasted as lines.
import { useState } from "preact/hooks";
import { ApiError, request } from "../../lib/client.ts";
import { Button, Field, Note } from "../../ui/Basics.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { readPaste, type Edit, type Pasted } from "./edits.ts";
import { DOMAINS, PROJECTS, rowsOf, USERS, type Row } from "./query.ts";

const BY_RANK = { field: "RANK", direction: "ASC" } as const;

/** The rows that the names mean. */
async function find(group: string, rows: Pasted[]): Promise<Row[]> {
  const names = (tier: Pasted["tier"]) => [...new Set(rows.filter((row) => row.tier === tier).map((row) => row.name))];
  const window = { group, order: BY_RANK, first: 1000, offset: 0 };
  const [domains, projects, users] = await Promise.all([
    request(DOMAINS, { ...window, filter: { domain_name: { in: names("domain") } } }),
    request(PROJECTS, { ...window, filter: { project_name: { in: names("project") } } }),
    request(USERS, { ...window, filter: { user_name: { in: names("user") } } }),
  ]);
  return rowsOf(domains, projects, users);
}

export function Paste({ group, close, take }: { group: string; close: () => void; take: (edits: [string, Edit][]) => void }) {
  const [text, setText] = useState("");
  const [faults, setFaults] = useState<string[]>([]);
  const submit = async (event: Event) => {
    event.preventDefault();
    const read = readPaste(text);
    if (read.faults.length > 0) return setFaults(read.faults);
    try {
      const known = await find(group, read.rows);
      const missing: string[] = [];
      const edits = read.rows.flatMap((pasted): [string, Edit][] => {
        const row = known.find((row) => row.tier === pasted.tier && row.name === pasted.name && (!pasted.project || row.within.endsWith(` / ${pasted.project}`)));
        if (!row) missing.push(`There is no ${pasted.tier} ${pasted.name}${pasted.project ? ` in ${pasted.project}` : ""} in this group.`);
        return row ? [[row.key, { row, weight: pasted.weight || null }]] : [];
      });
      if (missing.length > 0) return setFaults(missing);
      take(edits);
      close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFaults([error.message]);
    }
  };
  return (
    <Dialog title="Paste weights" close={close}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <Field label="One weight a line" hint="domain NAME WEIGHT, project NAME WEIGHT, or user NAME PROJECT WEIGHT; “default” takes a weight away. Put commas between where a name has spaces. Nothing is saved yet.">
          {(props) => <textarea {...props} rows={8} value={text} placeholder={"domain research 2\nproject vision 1.5\nuser amelia vision default"} onInput={(event) => setText(event.currentTarget.value)} />}
        </Field>
        {faults.length > 0 && (
          <Note kind="bad">
            {faults.slice(0, 5).map((fault) => (
              <p key={fault}>{fault}</p>
            ))}
            {faults.length > 5 && <p>And {faults.length - 5} more.</p>}
          </Note>
        )}
        <div class="row">
          <Button kind="primary" type="submit" disabled={text.trim() === ""}>
            Take these
          </Button>
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
