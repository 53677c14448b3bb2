// What domains use beside what they deserve: now, over 7 and over 28 days.
import { Link } from "wouter-preact";
import { num, percent } from "../../lib/numbers.ts";
import { groupPath, useParams } from "../../lib/route.ts";
import { ShareBar } from "../../ui/Bars.tsx";
import { Card, Figures, Tabs } from "../../ui/Basics.tsx";
import { Empty } from "../../ui/States.tsx";
import type { Data } from "./query.ts";
import { served } from "./served.ts";

type Window = "now" | "week" | "month";

const WINDOWS: [Window, string][] = [
  ["now", "Now"],
  ["week", "7 days"],
  ["month", "28 days"],
];
const ABOUT: Record<Window, string> = {
  now: "What runs at this moment, by the weights of slots.",
  week: "What was used today and on the 6 days before, without decay.",
  month: "What was used today and on the 27 days before, without decay.",
};

export function Domains({ group, data }: { group: string; data: Data }) {
  const [params, change] = useParams();
  const wished = params.get("window");
  const window = WINDOWS.find(([id]) => id === wished)?.[0] ?? "week";
  const names = data.domain_fair_shares.edges.map((edge) => edge.node.domain_name);
  const rows = served(names, data[window].entries.edges.map((edge) => edge.node));
  const widest = Math.max(0.01, ...rows.flatMap((row) => [row.used, row.entitled]));
  return (
    <Card title="Domains: used against deserved" aside={<Link href={groupPath(group, "shares")}>All shares</Link>}>
      <p class="muted small">In the wrong hands: used beyond what was deserved, as a part of all that was used.</p>
      <Figures items={WINDOWS.map(([id, name]) => [name, percent(num(data[id].misallocated_share)), "What domains used beyond what they deserved, as a part of all that was used"])} />
      <Tabs label="Window" tabs={WINDOWS} chosen={window} choose={(next) => change({ window: next === "week" ? null : next })} />
      {rows.length === 0 && <Empty title="No domain yet">Domains appear with their first kernel.</Empty>}
      {rows.map(({ name, used, entitled }) => (
        <div key={name} class="stack tight">
          <div class="barlabel">
            <Link class="wrap" href={groupPath(group, "entity", "domain", name)}>{name}</Link>
            <span class="muted nowrap">{percent(used)} used, {percent(entitled)} deserved</span>
          </div>
          <ShareBar used={used} entitled={entitled} of={widest} />
        </div>
      ))}
      <div class="legend">
        <span><i /> used within what is deserved</span>
        <span><i class="over" /> beyond it</span>
        <span><i class="mark" /> deserved</span>
      </div>
      <p class="muted small">{ABOUT[window]} Deserved is divided by weight among those that are active; what one did not ask for goes to the others.</p>
    </Card>
  );
}
