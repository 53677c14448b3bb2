// One domain, project or user: where it stands, what it used, who belongs to it.
import { useMemo } from "preact/hooks";
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import type { TadaDocumentNode } from "../../gql.ts";
import { useArchived } from "../../lib/archived.ts";
import { FACTOR_FORMULA, factor, num, percent, significant, slots } from "../../lib/numbers.ts";
import { usePastDay } from "../../lib/past.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId, readMember, useParams } from "../../lib/route.ts";
import { isUser } from "../../lib/session.ts";
import { today, yesterday } from "../../lib/time.ts";
import { hours, hoursUnit, ordered, slotName } from "../../lib/units.ts";
import { Archived } from "../../ui/Archived.tsx";
import { Button, Card, Figures, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Rank } from "../../ui/Rank.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { TimeControl } from "../../ui/TimeControl.tsx";
import { Ahead } from "./Ahead.tsx";
import { Compare } from "./Compare.tsx";
import { historyAction } from "./history.ts";
import { useRange } from "./range.ts";
import { UsageByDay, type Decay } from "./UsageByDay.tsx";
import type { Bucket } from "./days.ts";
import { useMarks } from "./happened.ts";
import { OverTime } from "./OverTime.tsx";
import { entitled } from "./entitled.tsx";
import { PastStanding } from "./PastStanding.tsx";
import { DOMAIN, PROJECT, USER } from "./query.ts";

interface Share {
  user_uuid?: string;
  user_name?: string | null;
  project_id?: string;
  project_name?: string | null;
  domain_name?: string;
  weight: string;
  configured_weight: string | null;
  effective_weight: string;
  effective_usage: string;
  fair_share_factor: string;
  entitled_share: string;
  entitled_share_of_parent: string;
  rank: number | null;
  ranked_count: number;
  previous_rank: number | null;
  total_decayed_usage: string;
  lookback_end: string | null;
  last_calculated_at: string | null;
}

interface Member {
  user_uuid?: string;
  user_name?: string | null;
  project_id: string;
  project_name?: string | null;
  fair_share_factor: string;
  rank: number | null;
  weight: string;
}

interface Whole {
  resource_group: { scheduler_opts: string | null; decay_weights: string[] } | null;
  share: Share | null;
  buckets: { edges: { node: Bucket }[] };
  members: { count: number; edges: { node: Member }[] };
}

/** The document and the variables that find what the address names. */
function asked(group: string, tier: string, id: string): [TadaDocumentNode<Whole, unknown>, Record<string, string>] | null {
  const member = readMember(id);
  if (tier === "domain") return [DOMAIN as unknown as TadaDocumentNode<Whole, unknown>, { group, name: id }];
  if (tier === "project") return [PROJECT as unknown as TadaDocumentNode<Whole, unknown>, { group, project: id }];
  return member ? [USER as unknown as TadaDocumentNode<Whole, unknown>, { group, ...member }] : null;
}

export default function Entity({ group, rest }: PageProps) {
  const [tier = "", id = ""] = rest;
  const [params, change] = useParams();
  const beside = params.get("beside");
  const [day, choose] = usePastDay(yesterday());
  if (!asked(group, tier, id)) return <Empty title="There is no domain, project or user at this address" />;
  return (
    <div class={beside ? "grid" : ""}>
      <One key={`${tier}/${id}`} group={group} tier={tier} id={id} day={day} choose={choose} compare={tier === "user" && !isUser() ? (other) => change({ beside: other }, true) : undefined} />
      {beside && readMember(beside) && (
        <div class="stack">
          <One key={beside} group={group} tier="user" id={beside} day={day} />
          <div>
            <Button small onClick={() => change({ beside: null })}>
              Stop comparing
            </Button>
          </div>
        </div>
      )}
    </div>
  );
}

interface OneProps {
  group: string;
  tier: string;
  id: string;
  /** The past day that is shown; `null`: now. */
  day: string | null;
  choose?: (day: string | null) => void;
  compare?: ((other: string) => void) | undefined;
}

function One({ group, tier, id, day, choose, compare }: OneProps) {
  const [doc, variables] = asked(group, tier, id) ?? [USER as unknown as TadaDocumentNode<Whole, unknown>, {}];
  const answer = useQuery(doc, variables);
  const isArchived = useArchived();
  const of = answer.data?.resource_group;
  const decay = useMemo((): Decay => ({ ...(JSON.parse(of?.scheduler_opts ?? "{}") as Decay), weights: of?.decay_weights ?? [] }), [of]);
  return (
    <Shown answer={answer}>
      {({ share, buckets, members }) => {
        if (!share) return <Empty title={`There is no such ${tier}`}>The server does not know this name.</Empty>;
        const name = (tier === "domain" ? share.domain_name : tier === "project" ? (share.project_name ?? share.project_id) : (share.user_name ?? share.user_uuid)) ?? id;
                return (
          <Page title={<>{name}<Archived is={isArchived(share)} /></>} crumbs={<Crumbs group={group} tier={tier} share={share} />} actions={<><CopyAs action={historyAction(group, tier, variables, doc)} /><Link class="button" href={groupPath(group, "explain", tier, id)}>Why this rank?</Link></>}>
            {choose && <TimeControl day={day} choose={choose} last={yesterday()} />}
            {day === null ? <Standing tier={tier} share={share} /> : <PastStanding group={group} tier={tier} id={id} domain={share.domain_name ?? ""} day={day} />}
            <ByDay group={group} tier={tier} id={id} share={share} edges={buckets.edges} decay={decay} last={day ?? share.lookback_end ?? today()} now={day === null ? share : null} />
            {day === null && (
              <div class="grid">
                <Counted share={share} />
                <Members group={group} tier={tier} members={members} self={id} />
              </div>
            )}
            {day === null && share.rank !== null && <Ahead group={group} tier={tier} id={id} />}
            {compare && day === null && <Compare group={group} self={id} compare={compare} />}
          </Page>
        );
      }}
    </Shown>
  );
}

/** The charts: usage, factor and rank, with what happened meanwhile. */
function ByDay({ group, tier, id, share, edges, decay, last, now }: { group: string; tier: string; id: string; share: Share; edges: { node: Bucket }[]; decay: Decay; last: string; now: Share | null }) {
  const buckets = useMemo(() => edges.map((edge) => edge.node), [edges]);
  const range = useRange(last);
  const marks = useMarks(group, share, range.last, range.count);
  return (
    <>
      <UsageByDay group={group} tier={tier} id={id} buckets={buckets} decay={decay} last={last} range={range} marks={marks} />
      <OverTime group={group} tier={tier} id={id} last={range.last} days={range.count} marks={marks} now={range.last === last ? now : null} />
    </>
  );
}

function Crumbs({ group, tier, share }: { group: string; tier: string; share: Share }) {
  if (isUser()) return <>{`${share.domain_name} / ${share.project_name ?? share.project_id}`}</>;
  return (
    <>
      <Link href={groupPath(group, "shares")}>Shares</Link>
      {tier !== "domain" && share.domain_name && (
        <>
          {" / "}
          <Link href={groupPath(group, "entity", "domain", share.domain_name)}>{share.domain_name}</Link>
        </>
      )}
      {tier === "user" && share.project_id && (
        <>
          {" / "}
          <Link href={groupPath(group, "entity", "project", share.project_id)}>{share.project_name ?? share.project_id}</Link>
        </>
      )}
      {` / ${tier}`}
    </>
  );
}

function Standing({ tier, share }: { tier: string; share: Share }) {
  return (
    <>
      <Figures
        items={[
          ["Rank", share.rank === null ? <small>not in this group</small> : <Rank of={share} among={share.ranked_count} />, "1 starts first"],
          ["Factor", <span title={share.fair_share_factor}>{factor(share.fair_share_factor)}</span>, FACTOR_FORMULA],
          ["Usage that counts, of capacity", <span title={share.effective_usage}>{percent(num(share.effective_usage))}</span>, "Decayed usage as a part of what the group offered in the look-back"],
          ["Weight", <>{share.weight} <small>{share.configured_weight === null ? "the default" : "set"}</small></>, "The weight that an admin has set, or the group's default"],
          ["Effective weight", share.effective_weight, "The divisor of the usage: for a user the product of the weights of all three tiers"],
          entitled(tier, share),
        ]}
      />
      <p class="muted small">Calculated <When at={share.last_calculated_at} /></p>
    </>
  );
}

function Counted({ share }: { share: Share }) {
  const usage = slots(share.total_decayed_usage);
  const known = ordered(Object.keys(usage));
  return (
    <Card title="How the factor comes about">
      {known.length === 0 ? (
        <p class="muted">Nothing that was used still counts, so the factor is 1.</p>
      ) : (
        <dl class="facts">
          {known.map((slot) => (
            <>
              <dt>{slotName(slot)} that counts</dt>
              <dd title={usage[slot]}>
                {significant(hours(slot, usage[slot] ?? 0))} {hoursUnit(slot)}
              </dd>
            </>
          ))}
          <dt>As a part of the look-back's capacity</dt>
          <dd class="mono">{share.effective_usage}</dd>
          <dt>Effective weight</dt>
          <dd class="mono">{share.effective_weight}</dd>
        </dl>
      )}
      <pre class="code">
        2^-({significant(num(share.effective_usage), 6)} / {share.effective_weight}) = {share.fair_share_factor}
      </pre>
    </Card>
  );
}

function Members({ group, tier, members, self }: { group: string; tier: string; members: Whole["members"]; self: string }) {
  const title = { domain: "Projects", project: "Users", user: "In all projects" }[tier] ?? "Members";
  const rows = members.edges.map((edge) => edge.node);
  return (
    <Card title={title} flush>
      <Scroll>
        <table class="data">
          <caption class="visually-hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col" class="name">Name</th>
              <th scope="col" class="number">Rank</th>
              <th scope="col" class="number">Factor</th>
              <th scope="col" class="number">Weight</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const member = row.user_uuid ? memberId({ user: row.user_uuid, project: row.project_id }) : null;
              const name = (tier === "project" ? (row.user_name ?? row.user_uuid) : (row.project_name ?? row.project_id)) ?? "";
              const path = member ? groupPath(group, "entity", "user", member) : groupPath(group, "entity", "project", row.project_id);
              return (
                <tr key={path}>
                  <th scope="row" class="name">{member === self ? name : <Link href={path}>{name}</Link>}</th>
                  <td class="number">{row.rank ?? "–"}</td>
                  <td class="number" title={row.fair_share_factor}>{factor(row.fair_share_factor)}</td>
                  <td class="number">{row.weight}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {members.count > rows.length && <p class="pad muted small">The first {rows.length} of {members.count}.</p>}
    </Card>
  );
}
