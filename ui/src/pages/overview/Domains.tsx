// The usage of domains beside their entitled shares, over one window after the other.
import { Link } from "wouter-preact";
import { useArchived } from "../../lib/archived.ts";
import { fullBar } from "../../lib/fullBar.ts";
import { num, percent } from "../../lib/numbers.ts";
import { groupPath, useParams } from "../../lib/route.ts";
import { Archived } from "../../ui/Archived.tsx";
import { ShareBar, ShareScale } from "../../ui/Bars.tsx";
import { Card, Figures, Tabs } from "../../ui/Basics.tsx";
import { Empty } from "../../ui/States.tsx";
import type { PastWindow } from "./query.ts";
import { served } from "./served.ts";

type Fairness = PastWindow["fairness"];

export interface Window extends Fairness {
  id: string;
  name: string;
  /** The time that it covers, in a sentence. */
  about: string;
}

const USUAL = "week";

export function Domains({ group, names, windows }: { group: string; names: string[]; windows: Window[] }) {
  const [params, change] = useParams();
  const isArchived = useArchived();
  const wished = params.get("window") ?? USUAL;
  const window = windows.find(({ id }) => id === wished) ?? windows.find(({ id }) => id === USUAL) ?? windows[0];
  const rows = window ? served(names, window.entries.edges.map((edge) => edge.node)) : [];
  const full = fullBar(rows.flatMap((row) => [row.used, row.entitled]));
  if (names.length === 0) {
    return (
      <Card title="Domains: used against entitled">
        <Empty title="No domain yet">Domains appear with their first kernel.</Empty>
      </Card>
    );
  }
  return (
    <Card title="Domains: used against entitled" aside={<Link href={groupPath(group, "shares")}>All shares</Link>}>
      <p class="muted small">Misallocated share: what domains used beyond what they are entitled to, as a part of all that was used.</p>
      <Figures items={windows.map(({ name, misallocated_share }) => [name, percent(num(misallocated_share)), "The usage of domains beyond their entitled shares, as a part of all usage"])} />
      {window && <Tabs label="Window" tabs={windows.map(({ id, name }) => [id, name])} chosen={window.id} choose={(next) => change({ window: next === USUAL ? null : next })} />}
      {rows.map(({ name, used, entitled }) => (
        <div key={name} class="stack tight">
          <div class="barlabel">
            <span class="wrap"><Link href={groupPath(group, "entity", "domain", name)}>{name}</Link><Archived is={isArchived({ domain_name: name })} /></span>
            <span class="muted nowrap">{percent(used)} used, entitled to {percent(entitled)}</span>
          </div>
          <ShareBar used={used} entitled={entitled} of={full} />
        </div>
      ))}
      {rows.length > 0 && <ShareScale of={full} what="of all that was used" />}
      <div class="legend">
        <span><i /> used within the entitled share</span>
        <span><i class="over" /> beyond it</span>
        <span><i class="mark" /> entitled share</span>
      </div>
      <p class="muted small">{window?.about} Weights divide the group among those that are active. What one of them does not ask for goes to the others.</p>
    </Card>
  );
}
