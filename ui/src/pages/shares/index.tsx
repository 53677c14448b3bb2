// The hierarchy on one screen: weights, usage, factors and ranks, with weights to change in place.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { basisOf } from "../../lib/meanwhile.ts";
import { usePastDay } from "../../lib/past.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { yesterday } from "../../lib/time.ts";
import { Button, Card, Page, Tabs } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { TimeControl } from "../../ui/TimeControl.tsx";
import { Changes } from "./Changes.tsx";
import { NO_DRAFT, withEdit, withEdits, type Draft, type Edit, type Edits } from "./edits.ts";
import { Paste } from "./Paste.tsx";
import { pastRankingAction, rankingAction } from "./ranking.ts";
import { FlatTable, Tree } from "./tables.tsx";
import type { Tier } from "./query.ts";

const VIEWS: [string, string][] = [
  ["tree", "Tree"],
  ["domain", "Domains"],
  ["project", "Projects"],
  ["user", "Users"],
];

export default function Shares({ group }: PageProps) {
  const [params, change] = useParams();
  const [draft, setDraft] = useState<Draft>(NO_DRAFT);
  const { edits } = draft;
  const [pasting, setPasting] = useState(false);
  const view = params.get("view") ?? "tree";
  const [day, choose] = usePastDay(yesterday());
  const put = (change: (edits: Edits) => Edits, shown: string | undefined) => setDraft((old) => withEdits(old, change(old.edits), basisOf(group, shown)));
  const edit = isAdmin() && day === null ? (row: Edit["row"], text: string) => put((old) => withEdit(old, row, text), row.revision) : undefined;
  const controls = { day, edits, edit };
  return (
    <Page
      title="Shares"
      about="The weights, the recent usage and the rank of each owner. A higher factor starts first."
      actions={
        <>
          <CopyAs action={day === null ? rankingAction(group, view) : pastRankingAction(group, view, day)} />
          {edit && <Button onClick={() => setPasting(true)}>Paste weights</Button>}
        </>
      }
    >
      <TimeControl day={day} choose={choose} last={yesterday()} />
      <Card flush>
        <div class="pad stack">
          <Tabs label="Tier" tabs={VIEWS} chosen={view} choose={(next) => change({ view: next === "tree" ? null : next, page: null, sort: null }, true)} />
          <Filters isPast={day !== null} />
        </div>
        {view === "tree" ? <Tree group={group} {...controls} /> : <FlatTable key={view} group={group} tier={view as Tier} {...controls} />}
      </Card>
      {edit && edits.size > 0 && <Changes group={group} draft={draft} setDraft={setDraft} remove={(key) => put((old) => new Map([...old].filter(([k]) => k !== key)), undefined)} />}
      {pasting && <Paste group={group} close={() => setPasting(false)} take={(more) => put((old) => new Map([...old, ...more]), more[0]?.[1].row.revision)} />}
    </Page>
  );
}

function Filters({ isPast }: { isPast: boolean }) {
  const [params, change] = useParams();
  return (
    <search class="row">
      <input
        class="input"
        style={{ maxWidth: "280px" }}
        type="search"
        aria-label="Search by name"
        placeholder="Search by name"
        value={params.get("q") ?? ""}
        onInput={(event) => change({ q: event.currentTarget.value, page: null })}
      />
      {!isPast && (
        <label class="check">
          <input type="checkbox" checked={params.get("active") === "1"} onChange={(event) => change({ active: event.currentTarget.checked ? "1" : null, page: null })} />
          Only those who used something lately
        </label>
      )}
    </search>
  );
}
