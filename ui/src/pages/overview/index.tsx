// How a group stands: what is used now, who has used what, and whether all is well.
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import type { Action } from "../../lib/copy.ts";
import { gapPolicy } from "../../lib/gaps.ts";
import { inWords } from "../../lib/inWords.ts";
import { many, num, significant, slots } from "../../lib/numbers.ts";
import { usePastDay } from "../../lib/past.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath } from "../../lib/route.ts";
import { duration, shortDay, yesterday } from "../../lib/time.ts";
import { amount, ordered, scale, slotName } from "../../lib/units.ts";
import { UseBar } from "../../ui/Bars.tsx";
import { Card, Figures, Note, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Said } from "../../ui/Said.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { TimeControl } from "../../ui/TimeControl.tsx";
import { onOneScale } from "./capacity.ts";
import { Domains } from "./Domains.tsx";
import { Movers } from "./Movers.tsx";
import { Past } from "./Past.tsx";
import { People } from "./People.tsx";
import { OVERVIEW, PAST, type Data } from "./query.ts";

export default function Overview({ group }: PageProps) {
  const [day, choose] = usePastDay(yesterday());
  return (
    <Page
      title={group}
      about={day === null ? "The capacity of the group, its present usage, and the ranks of its domains." : `What was used in the group on ${shortDay(day)}, and how its domains and users stood at its end.`}
      actions={<CopyAs action={day === null ? nowAction(group) : pastAction(group, day)} />}
    >
      <TimeControl day={day} choose={choose} last={yesterday()} />
      {day === null ? <Now group={group} /> : <Past key={day} group={group} day={day} />}
    </Page>
  );
}

const nowAction = (group: string): Action => ({ document: OVERVIEW, variables: { group }, rest: { path: ["resource-groups", group] }, command: ["groups", "show", group] });

/** Over REST and on the command line the ranking of that day alone. */
function pastAction(group: string, day: string): Action {
  const rest = { path: ["resource-groups", group, "fair-share-history"], query: { tier: "user", from: day, to: day, order: "rank" } };
  return { document: PAST, variables: { group, day, from: day, to: day }, rest, command: ["history", group, ["--tier", "user"], ["--from", day], ["--to", day], "--by-rank"] };
}

const WINDOWS: [id: "now" | "week" | "month", name: string, about: string][] = [
  ["now", "Now", "What runs at this moment, by the weights of slots."],
  ["week", "7 days", "What was used today and on the 6 days before, without decay."],
  ["month", "28 days", "What was used today and on the 27 days before, without decay."],
];

function Now({ group }: { group: string }) {
  const answer = useQuery(OVERVIEW, { group });
  return (
    <Shown answer={answer}>
      {(data) => (
        <>
          <Warnings group={group} data={data} />
          <Health data={data} />
          <div class="grid">
            <div class="stack">
              <Capacity data={data} />
              <Gaps data={data} />
            </div>
            <Domains group={group} names={data.domain_fair_shares.edges.map((edge) => edge.node.domain_name)} windows={WINDOWS.map(([id, name, about]) => ({ id, name, about, ...data[id] }))} />
          </div>
          <div class="grid">
            <People group={group} title="First in line" rows={data.best.edges.map((edge) => edge.node)} />
            <People group={group} title="Last in line" rows={data.worst.edges.map((edge) => edge.node).toReversed()} />
            <Movers group={group} title="Top movers since yesterday" movers={data.rank_movers} none="Either all ranks are those of yesterday, or no rank of yesterday is kept." />
          </div>
        </>
      )}
    </Shown>
  );
}

function Warnings({ group, data }: { group: string; data: Data }) {
  const warnings = data.resource_group?.warnings ?? [];
  return warnings.map((warning) => (
    <Note key={warning.code + warning.detail} kind="warn">
      <Said text={inWords(warning.detail, Object.keys(slots(data.resource_group?.capacity)))} exact={warning.detail} /> <Link href={groupPath(group, "settings")}>Settings</Link>
    </Note>
  ));
}

function Health({ data }: { data: Data }) {
  const agents = data.agents.edges.map((edge) => edge.node);
  const serving = agents.filter((agent) => agent.alive && agent.schedulable).length;
  return (
    <Figures
      items={[
        ["Scheduler", data.resource_group?.scheduler ?? "–", "How pending workloads are ordered"],
        ["Nodes that serve", <>{serving} <small>of {data.agents.count}</small></>, "Alive, and taking new work"],
        ["Users in projects", data.best.count, "Users in their projects that the ranking lists"],
        ["Domains", data.domain_fair_shares.count],
        ["Calculated", <When at={data.resource_group?.calculated_at} />, "When factors and ranks were last calculated"],
      ]}
    />
  );
}

function Capacity({ data }: { data: Data }) {
  const capacity = slots(data.resource_group?.capacity);
  const used = slots(data.resource_group?.in_use);
  const waiting = slots(data.resource_group?.waiting);
  const all = ordered([...Object.keys(capacity), ...Object.keys(used)]);
  const exceeded = all.some((slot) => onOneScale(num(capacity[slot]), num(used[slot]), num(waiting[slot])).capacity !== null);
  if (all.length === 0) {
    return (
      <Card title="Capacity and use now">
        <Empty title="Nothing is offered">Nodes are reported with an admin key, by <code>PUT /resource-groups/NAME/agents/NODE</code> or <code>fairshared agents set</code>.</Empty>
      </Card>
    );
  }
  return (
    <Card title="Capacity and use now">
      {all.map((slot) => {
        const whole = num(capacity[slot]);
        const held = num(used[slot]);
        const asked = num(waiting[slot]);
        const scaled = onOneScale(whole, held, asked);
        const plain = (value: number): string => significant(value / scale(slot));
        const text = `${plain(held)} of ${amount(slot, whole)} used${asked > 0 ? `, ${plain(asked)} waited for` : ""}`;
        return (
          <div key={slot} class="stack tight">
            <div class="barlabel">
              <strong>{slotName(slot)}</strong>
              <span class="muted">{text}</span>
            </div>
            <UseBar label={`${slotName(slot)}: ${text}`} held={scaled.used} wanted={scaled.wanted} {...(scaled.capacity === null ? {} : { mark: scaled.capacity })} />
          </div>
        );
      })}
      <div class="legend">
        <span><i /> used</span>
        <span><i class="soft" /> waited for</span>
        {exceeded && <span><i class="mark" /> capacity</span>}
      </div>
      <p class="muted small">A full bar is the capacity{exceeded && ", or all that is wanted where that is more"}.</p>
    </Card>
  );
}

function Gaps({ data }: { data: Data }) {
  return (
    <Card title="Gaps in recording">
      {data.usage_gaps.count === 0 ? (
        <p class="muted">No downtime of the service has cost or stretched any usage.</p>
      ) : (
        data.usage_gaps.edges.map(({ node }) => (
          <div key={node.started_at} class="barlabel">
            <span><When at={node.started_at} />, for {duration((Date.parse(node.ended_at) - Date.parse(node.started_at)) / 1000)}</span>
            <span class="muted">{many(node.kernels, "kernel")}, {gapPolicy(node.gap_policy)}</span>
          </div>
        ))
      )}
    </Card>
  );
}
