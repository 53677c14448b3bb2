// The hierarchy on one screen: weights, usage, factors and ranks, with weights to change in place.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { usePastDay } from "../../lib/past.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { yesterday } from "../../lib/time.ts";
import { Button, Card, Page, Tabs } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { TimeControl } from "../../ui/TimeControl.tsx";
import { Changes } from "./Changes.tsx";
import type { Edits } from "./edits.ts";
import { withEdit } from "./edits.ts";
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
  const [edits, setEdits] = useState<Edits>(new Map());
  const [pasting, setPasting] = useState(false);
  const view = params.get("view") ?? "tree";
  const [day, choose] = usePastDay(yesterday());
  const edit = isAdmin() && day === null ? (row: Parameters<typeof withEdit>[1], text: string) => setEdits((old) => withEdit(old, row, text)) : undefined;
  const controls = { day, edits, edit };
  return (
    <Page
      title="Shares"
      about="Who has which weight, what of the group they have used lately, and where that puts them. A higher factor goes first."
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
      {edit && edits.size > 0 && <Changes group={group} edits={edits} clear={() => setEdits(new Map())} remove={(key) => setEdits((old) => new Map([...old].filter(([k]) => k !== key)))} />}
      {pasting && <Paste group={group} close={() => setPasting(false)} take={(more) => setEdits((old) => new Map([...old, ...more]))} />}
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
