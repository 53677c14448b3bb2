// How a group stands: what is used now, who has used what, and whether all is well.
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import type { ResultOf } from "../../gql.ts";
import { factor, num, percent, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId } from "../../lib/route.ts";
import { duration } from "../../lib/time.ts";
import { amount, ordered, slotName } from "../../lib/units.ts";
import { ShareBar, StackBar } from "../../ui/Bars.tsx";
import { Card, Figures, Note, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { OVERVIEW } from "./query.ts";

type Data = ResultOf<typeof OVERVIEW>;

export default function Overview({ group }: PageProps) {
  const answer = useQuery(OVERVIEW, { group });
  return (
    <Page title={group} about="What the group offers and what is used of it now, and how its domains stand." actions={<CopyAs action={{ document: OVERVIEW, variables: { group }, rest: { path: ["resource-groups", group] }, command: ["groups", "show", group] }} />}>
      <Shown answer={answer}>
        {(data) => (
          <>
            <Warnings group={group} data={data} />
            <Health data={data} />
            <div class="grid">
              <Capacity data={data} />
              <Domains group={group} data={data} />
            </div>
            <div class="grid">
              <People group={group} title="First in line" rows={data.best.edges} />
              <People group={group} title="Last in line" rows={data.worst.edges.toReversed()} />
              <Gaps data={data} />
            </div>
          </>
        )}
      </Shown>
    </Page>
  );
}

function Warnings({ group, data }: { group: string; data: Data }) {
  const warnings = data.resource_group?.warnings ?? [];
  return warnings.map((warning) => (
    <Note key={warning.code + warning.detail} kind="warn">
      {warning.detail} <Link href={groupPath(group, "settings")}>Settings</Link>
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
        ["In the wrong hands", <>{percent(num(data.fairness.misallocated_share))} <small>of 7 days</small></>, "What domains used beyond their entitlement in the last 7 days, as a part of all that was used"],
        ["Users", data.best.count, "Users in their projects that the ranking lists"],
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
  return (
    <Card title="Capacity and use now">
      {all.length === 0 && <Empty title="Nothing is offered">A scheduler reports its nodes; so does <code>fairshared agents set</code>.</Empty>}
      {all.map((slot) => {
        const whole = num(capacity[slot]);
        const held = num(used[slot]);
        const asked = num(waiting[slot]);
        const part = whole > 0 ? held / whole : 0;
        const text = `${amount(slot, held)} of ${amount(slot, whole)} used${asked > 0 ? `, ${amount(slot, asked)} waited for` : ""}`;
        return (
          <div key={slot} class="stack tight">
            <div class="barlabel">
              <strong>{slotName(slot)}</strong>
              <span class="muted">{text}</span>
            </div>
            <StackBar label={`${slotName(slot)}: ${text}`} parts={[{ part: whole > 0 ? (held + asked) / whole : 0, kind: "soft" }, { part, kind: "" }]} />
          </div>
        );
      })}
      <div class="legend">
        <span><i /> used</span>
        <span><i class="soft" /> waited for</span>
      </div>
    </Card>
  );
}

function Domains({ group, data }: { group: string; data: Data }) {
  const rows = data.domain_fair_shares.edges.map((edge) => edge.node);
  const used = rows.reduce((sum, row) => sum + num(row.effective_usage), 0);
  const parts = rows.map((row) => ({ row, used: used > 0 ? num(row.effective_usage) / used : 0, due: num(row.entitled_share) }));
  const widest = Math.max(0.01, ...parts.flatMap((part) => [part.used, part.due]));
  return (
    <Card title="Domains: used against entitled" aside={<Link href={groupPath(group, "shares")}>All shares</Link>}>
      {rows.length === 0 && <Empty title="No domain yet">Domains appear with their first kernel.</Empty>}
      {parts.map(({ row, used, due }) => (
        <div key={row.domain_name} class="stack tight">
          <div class="barlabel">
            <Link class="wrap" href={groupPath(group, "entity", "domain", row.domain_name)}>{row.domain_name}</Link>
            <span class="muted nowrap">{percent(used)} used, {percent(due)} entitled</span>
          </div>
          <ShareBar used={used} entitled={due} of={widest} />
        </div>
      ))}
      <div class="legend">
        <span><i /> used within the entitlement</span>
        <span><i class="over" /> beyond it</span>
        <span><i class="mark" /> entitled</span>
      </div>
      <p class="muted small">Usage of the look-back, decayed. Entitled is each weight as a part of the weights of all domains that are active.</p>
    </Card>
  );
}

function People({ group, title, rows }: { group: string; title: string; rows: Data["worst"]["edges"] }) {
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty title="Nobody yet" />
      ) : (
        <Scroll>
        <table class="data">
          <caption class="visually-hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col" class="number">Rank</th>
              <th scope="col">User</th>
              <th scope="col" class="number">Factor</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ node }) => (
              <tr key={node.user_uuid + node.project_id}>
                <td class="number">{node.rank}</td>
                <th scope="row" class="name">
                  <Link href={groupPath(group, "entity", "user", memberId({ user: node.user_uuid, project: node.project_id }))}>{node.user_name ?? node.user_uuid}</Link>
                  <div class="muted small">{node.project_name ?? node.project_id}</div>
                </th>
                <td class="number" title={node.fair_share_factor}>{factor(node.fair_share_factor)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        </Scroll>
      )}
    </Card>
  );
}

function Gaps({ data }: { data: Data }) {
  return (
    <Card title="Gaps">
      {data.usage_gaps.count === 0 ? (
        <p class="muted">No downtime of the service has cost or stretched any usage.</p>
      ) : (
        data.usage_gaps.edges.map(({ node }) => (
          <div key={node.started_at} class="barlabel">
            <span><When at={node.started_at} />, for {duration((Date.parse(node.ended_at) - Date.parse(node.started_at)) / 1000)}</span>
            <span class="muted">{node.kernels} kernels, {node.gap_policy}</span>
          </div>
        ))
      )}
    </Card>
  );
}
