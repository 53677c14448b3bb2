// How a group stands: what is used now, who has used what, and whether all is well.
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { gapPolicy } from "../../lib/gaps.ts";
import { factor, many, num, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId } from "../../lib/route.ts";
import { duration } from "../../lib/time.ts";
import { amount, ordered, slotName } from "../../lib/units.ts";
import { StackBar } from "../../ui/Bars.tsx";
import { Card, Figures, Note, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Rank } from "../../ui/Rank.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { onOneScale } from "./capacity.ts";
import { Domains } from "./Domains.tsx";
import { Movers } from "./Movers.tsx";
import { OVERVIEW, type Data } from "./query.ts";

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
              <div class="stack">
                <Capacity data={data} />
                <Gaps data={data} />
              </div>
              <Domains group={group} data={data} />
            </div>
            <div class="grid">
              <People group={group} title="First in line" rows={data.best.edges} />
              <People group={group} title="Last in line" rows={data.worst.edges.toReversed()} />
              <Movers group={group} movers={data.rank_movers} />
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
  return (
    <Card title="Capacity and use now">
      {all.length === 0 && <Empty title="Nothing is offered">A scheduler reports its nodes; so does <code>fairshared agents set</code>.</Empty>}
      {all.map((slot) => {
        const whole = num(capacity[slot]);
        const held = num(used[slot]);
        const asked = num(waiting[slot]);
        const scaled = onOneScale(whole, held, asked);
        const text = `${amount(slot, held)} of ${amount(slot, whole)} used${asked > 0 ? `, ${amount(slot, asked)} waited for` : ""}`;
        return (
          <div key={slot} class="stack tight">
            <div class="barlabel">
              <strong>{slotName(slot)}</strong>
              <span class="muted">{text}</span>
            </div>
            <StackBar label={`${slotName(slot)}: ${text}`} parts={[{ part: scaled.wanted, kind: "soft" }, { part: scaled.used, kind: "" }]} {...(scaled.capacity === null ? {} : { mark: scaled.capacity })} />
          </div>
        );
      })}
      <div class="legend">
        <span><i /> used</span>
        <span><i class="soft" /> waited for</span>
        {all.some((slot) => onOneScale(num(capacity[slot]), num(used[slot]), num(waiting[slot])).capacity !== null) && <span><i class="mark" /> capacity, where more is wanted</span>}
      </div>
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
                <td class="number" data-value={node.rank}>
                  <Rank of={node} among={node.ranked_count} />
                </td>
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
