// Why a domain, project or user stands where it stands: days, decay, weights, factor, place; and what would change it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { graphql } from "../../gql.ts";
import { useArchived } from "../../lib/archived.ts";
import { EXPLAIN, explainAction, nameOf, type BucketPart, type Explanation, type Neighbour, type TreeLevel } from "../../lib/explanation.ts";
import { ApiError } from "../../lib/client.ts";
import { placeOf } from "../../lib/find.ts";
import { inWords } from "../../lib/inWords.ts";
import { FACTOR_FORMULA, count, factor, num, percent, significant } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId, readMember, useParams } from "../../lib/route.ts";
import { isUser } from "../../lib/session.ts";
import { shortened } from "../../lib/sentence.ts";
import { exact } from "../../lib/time.ts";
import { hours, hoursOf } from "../../lib/units.ts";
import { Archived } from "../../ui/Archived.tsx";
import { Card, Field, Figures, Note, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { CopyLink } from "../../ui/CopyLink.tsx";
import { Outlook } from "../../ui/Outlook.tsx";
import { Said } from "../../ui/Said.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { type Kernels, kernelsOf } from "./records.ts";
import { conclusion, waterfall } from "./waterfall.ts";

/** The domain, project or user that the address names, in the variables of the query. */
function readSubject(rest: string[]): Record<string, string> | null {
  const [tier, id] = rest;
  const member = id ? readMember(id) : null;
  if (tier === "domain" && id) return { tier, domain: id };
  if (tier === "project" && id) return { tier, project: id };
  return tier === "user" && member ? { tier, ...member } : null;
}

/** The place that was typed, if there is such a place. */
function placeIn(typed: string, of: number): number | null {
  const place = /^\d+$/.test(typed) ? Number(typed) : 0;
  return place >= 1 && place <= of ? place : null;
}

export default function Explain({ group, rest }: PageProps) {
  const subject = readSubject(rest);
  return subject ? <Explained group={group} subject={subject} /> : <Choose group={group} />;
}

const FIND = graphql(`
  query FindUser($group: String!, $filter: UserFairShareFilter) {
    user_fair_shares(resource_group: $group, first: 20, filter: $filter) {
      count
      edges { node { user_uuid user_name project_id project_name rank fair_share_factor } }
    }
  }
`);

function Choose({ group }: { group: string }) {
  const [params, change] = useParams();
  const [, go] = useLocation();
  const search = params.get("q") ?? "";
  const variables = { group, filter: search ? { user_name: { i_contains: search } } : null };
  const answer = useQuery(FIND, variables);
  // A user with one place has nothing to choose.
  const all = answer.data?.user_fair_shares.edges ?? [];
  const only = isUser() && all.length === 1 ? all[0]?.node : undefined;
  const own = only && groupPath(group, "explain", "user", memberId({ user: only.user_uuid, project: only.project_id }));
  useEffect(() => {
    if (own) go(own, { replace: true });
  }, [own, go]);
  return (
    <Page
      title="Explain"
      about={isUser() ? "Why you stand where you stand." : "Why do the kernels of a user wait? Choose the user."}
      actions={<CopyAs action={{ document: FIND, variables, rest: { path: ["resource-groups", group, "fair-share-status"], query: { limit: 20 } }, command: ["rank", group, ["--limit", 20]] }} />}
    >
      {!isUser() && (
        <search>
          <Field label="Name of a user">{(props) => <input {...props} type="search" value={search} onInput={(event) => change({ q: event.currentTarget.value })} />}</Field>
        </search>
      )}
      <Card flush>
        <Shown answer={answer}>
          {(data) =>
            data.user_fair_shares.count === 0 ? (
              isUser() ? (
                <Empty title="You have used nothing here">Your first kernel in this group goes before those of everyone who has used something for the same weight.</Empty>
              ) : (
                <Empty title="No user is called like this" />
              )
            ) : (
              <>
                <Scroll>
                  <table class="data">
                    <caption class="visually-hidden">Users</caption>
                    <thead>
                      <tr>
                        <th scope="col" class="number" style={{ width: "80px" }}>Rank</th>
                        <th scope="col" class="name">User</th>
                        <th scope="col" class="number">Factor</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.user_fair_shares.edges.map(({ node }) => (
                        <tr key={node.user_uuid + node.project_id}>
                          <td class="number">{node.rank ?? "–"}</td>
                          <th scope="row" class="name">
                            <Link href={groupPath(group, "explain", "user", memberId({ user: node.user_uuid, project: node.project_id }))}>
                              {placeOf(node)}
                            </Link>
                          </th>
                          <td class="number" title={node.fair_share_factor}>{factor(node.fair_share_factor)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
                {data.user_fair_shares.count > data.user_fair_shares.edges.length && (
                  <p class="pad muted small">
                    The first {count(data.user_fair_shares.edges.length)} of {count(data.user_fair_shares.count)} by rank. A part of the name finds the others.
                  </p>
                )}
              </>
            )
          }
        </Shown>
      </Card>
    </Page>
  );
}

function Explained({ group, subject }: { group: string; subject: Record<string, string> }) {
  const [params, change] = useParams();
  const answer = useQuery(EXPLAIN, { group, ...subject, place: null });
  const isArchived = useArchived();
  return (
    <Shown answer={answer}>
      {(data) => {
        const explanation = JSON.parse(data.explain_fair_share) as Explanation;
        const typed = params.get("place") ?? "";
        const place = placeIn(typed, explanation.of);
        return (
          <Page title={<>{nameOf(explanation)}<Archived is={isArchived(explanation)} /></>} crumbs={<Crumbs group={group} explanation={explanation} />} actions={<><CopyAs action={explainAction(group, subject, place)} /><CopyLink /><Link class="button" href={pathOf(group, explanation)}>Usage by day</Link></>}>
            <Note>
              <strong title={explanation.summary}>{inWords(explanation.summary, explanation.buckets.flatMap((bucket) => Object.keys(bucket.resource_usage)))}</strong>
            </Note>
            <Figures
              items={[
                ["Place", <>{explanation.place ?? "–"} <small>of {explanation.of}</small></>, explanation.order === "tiered" ? "In the order of starts: domains are compared first, then projects, then users" : "In the order of starts, which is by rank: all users of the group are compared"],
                ...rankBeside(explanation),
                ["Factor", <span title={explanation.formula.fair_share_factor}>{factor(explanation.formula.fair_share_factor)}</span>, FACTOR_FORMULA],
                ...usageAndWeight(explanation),
                ["Calculated", <When at={explanation.rules.calculated_at} />, "Past days are under “Usage by day”"],
              ]}
            />
            {explanation.tree_levels && <Tree levels={explanation.tree_levels} text={explanation.formula.text} />}
            <Days group={group} explanation={explanation} />
            <div class="grid">
              <Weights explanation={explanation} />
              <Neighbours group={group} explanation={explanation} />
            </div>
            {explanation.tree_levels ? (
              <p class="muted small">This scheduler compares the whole tree, so a change of one owner moves others: which weight or usage would lead to another place is not computed. A simulation (What if) shows what one change would do.</p>
            ) : (
              <div class="grid">
                <Outlook ahead={explanation.if_nothing_is_run} />
                <Change group={group} subject={subject} explanation={explanation} typed={typed} place={place} ask={(next) => change({ place: next })} />
              </div>
            )}
          </Page>
        );
      }}
    </Shown>
  );
}

/** The figures that the factor is made of, unless it follows from the whole tree. */
function usageAndWeight({ formula, tree_levels }: Explanation): [string, JSX.Element | string, string][] {
  if (tree_levels) return [];
  return [
    ["Usage that counts, of capacity", <span title={formula.normalized_usage}>{percent(num(formula.normalized_usage))}</span>, "Part of the group's capacity in the look-back"],
    ["Effective weight", formula.effective_weight, "The weights of domain, project and user, multiplied"],
  ];
}

/** The rank, where it is another number than the place. */
function rankBeside({ rank, place }: Explanation): [string, number, string][] {
  return rank === null || rank === place ? [] : [["Rank", rank, "In the order of factors: all are compared at once, and equals share a rank"]];
}

/** The page of the domain, project or user that is explained. */
function pathOf(group: string, explanation: Explanation): string {
  const id = explanation.user_uuid ? memberId({ user: explanation.user_uuid, project: explanation.project_id ?? "" }) : (explanation.project_id ?? explanation.domain_name);
  return groupPath(group, "entity", explanation.tier, id);
}

function Crumbs({ group, explanation }: { group: string; explanation: Explanation }) {
  return (
    <>
      <Link href={groupPath(group, "explain")}>Explain</Link> / {[explanation.domain_name, explanation.project_name].filter(Boolean).join(" / ")}
    </>
  );
}

/** The figures of `sshare -l`, from the domain down. */
function Tree({ levels, text }: { levels: TreeLevel[]; text: string }) {
  return (
    <Card title="As sshare -l shows it">
      <Scroll>
        <table class="data cards">
          <caption class="visually-hidden">Shares and usage, from the domain down</caption>
          <thead>
            <tr>
              <th scope="col">Account or user</th>
              <th scope="col" class="number">RawShares</th>
              <th scope="col" class="number">NormShares</th>
              <th scope="col" class="number">RawUsage</th>
              <th scope="col" class="number">NormUsage</th>
              <th scope="col" class="number">EffectvUsage</th>
              <th scope="col" class="number">FairShare</th>
              <th scope="col" class="number" title="Shares divided by usage, each as a part of those of the siblings">LevelFS</th>
            </tr>
          </thead>
          <tbody>
            {levels.map((level) => (
              <tr key={level.tier + level.name}>
                <th scope="row">{level.name} <span class="muted">{level.tier}</span></th>
                <td class="number">{level.raw_shares}</td>
                <td class="number" title={level.normalized_shares}>{num(level.normalized_shares).toFixed(6)}</td>
                <td class="number" title={level.raw_usage}>{Math.floor(num(level.raw_usage))}</td>
                <td class="number" title={level.normalized_usage}>{num(level.normalized_usage).toFixed(6)}</td>
                <td class="number" title={level.effective_usage}>{num(level.effective_usage).toFixed(6)}</td>
                <td class="number" title={level.fair_share}>{num(level.fair_share).toFixed(6)}</td>
                <td class="number" title={level.level_fair_share ?? "infinite"}>{level.level_fair_share === null ? "inf" : num(level.level_fair_share).toFixed(6)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <pre class="code" title={text}>{shortened(text)}</pre>
    </Card>
  );
}

function Days({ group, explanation }: { group: string; explanation: Explanation }) {
  const days = waterfall(explanation.buckets);
  const then = conclusion(explanation);
  const said = then.map(({ name, shown }) => `${name}: ${shown}`).join("; ");
  return (
    <Card title={explanation.tree_levels ? "Days that count" : "From days to the place"} aside={<span class="muted small">days of UTC</span>}>
      {days.length === 0 && <p class="muted">Nothing that was used in the last {explanation.rules.lookback_days} days counts.</p>}
      {!explanation.tree_levels && <div class="waterfall" role="img" aria-label={`The days whose usage counts, as parts of all that counts; the same values are in the table below. What follows from them: ${said}.`}>
        {[...days, ...then].map((step) => (
          <div key={step.name} class={step.kind} title={step.title}>
            <span>{step.name}</span>
            <span class="track">
              <i style={{ left: `${step.from * 100}%`, width: `max(2px, ${step.length * 100}%)` }} />
            </span>
            <span class="right">{step.shown}</span>
          </div>
        ))}
      </div>}
      {!explanation.tree_levels && <p class="muted small">A day's bar begins where the one before it ends. All that counts, divided by the weight, is the exponent: the factor is 2 to the power of minus it, and its bar is a part of 1. The mark of the place stands in the line, the first at the left.</p>}
      <details>
        <summary>Every day with its decay, and its kernels</summary>
        <Scroll>
          <table class="data cards">
            <caption class="visually-hidden">Days that count</caption>
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col">Used</th>
                <th scope="col" class="number">Of a day's capacity</th>
                <th scope="col" class="number">Still counts</th>
                <th scope="col" class="number">Part of all</th>
                <th scope="col">Kernels</th>
              </tr>
            </thead>
            <tbody>
              {explanation.buckets.toReversed().map((bucket) => (
                <tr key={bucket.period_start}>
                  <th scope="row" class="nowrap">{bucket.period_start}</th>
                  <td class="all">{used(bucket.resource_usage)}</td>
                  <td class="number" title={bucket.normalized_usage}>{percent(num(bucket.normalized_usage))}</td>
                  <td class="number">{percent(num(bucket.decay_weight))}</td>
                  <td class="number" title={bucket.contribution}>{percent(num(bucket.part))}</td>
                  <td class="all"><KernelsOf group={group} explanation={explanation} bucket={bucket} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
      {!explanation.tree_levels && <pre class="code" title={explanation.formula.text}>{shortened(explanation.formula.text)}</pre>}
      {(num(explanation.unrecorded.normalized_usage) > 0 || num(explanation.committed.normalized_usage) > 0) && (
        <p class="muted small">
          Not in the factor yet: {percent(num(explanation.unrecorded.normalized_usage))} that no run has recorded, and {percent(num(explanation.committed.normalized_usage))} that running kernels are expected to use. Progressive sequences count both.
        </p>
      )}
    </Card>
  );
}

function used(usage: Record<string, string>): string {
  return Object.entries(usage)
    .map(([slot, value]) => `${significant(hours(slot, value), 3)} ${hoursOf(slot)}`)
    .join(", ");
}

/** The kernels of one day, read when they are opened. */
function KernelsOf({ group, explanation, bucket }: { group: string; explanation: Explanation; bucket: BucketPart }) {
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState<Kernels>();
  const [error, setError] = useState<ApiError>();
  const { period_start: from, period_end: to } = bucket;
  const [user, project] = [explanation.user_uuid ?? null, explanation.project_id ?? null];
  const domain = explanation.tier === "domain" ? explanation.domain_name : null;
  useEffect(() => {
    if (!open || found) return;
    setError(undefined);
    const aborter = new AbortController();
    kernelsOf({ group, from, to, user, project, domain }, aborter.signal).then(setFound, (cause: unknown) => {
      if (!aborter.signal.aborted) setError(cause instanceof ApiError ? cause : new ApiError("failed", String(cause)));
    });
    return () => aborter.abort();
  }, [open, found, group, from, to, user, project, domain]);
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Show</summary>
      {error && <span class="bad small">{error.message}</span>}
      {!found && !error && <span class="muted small">Reading the records of this day…</span>}
      {found && found.sums.size === 0 && <span class="muted small">The records of this day are gone.</span>}
      {found && found.read < found.count && (
        <div class="small">
          The first {count(found.read)} of {count(found.count)} records of this day: later ones are not in these sums.
        </div>
      )}
      {[...(found?.sums ?? [])].map(([kernel, sum]) => (
        <div key={kernel} class="small">
          <span class="mono" title={kernel}>{kernel.slice(0, 8)}</span> {used(Object.fromEntries(Object.entries(sum).map(([slot, value]) => [slot, String(value)])))}
        </div>
      ))}
    </details>
  );
}

function Weights({ explanation }: { explanation: Explanation }) {
  return (
    <Card title="Which weights divide it">
      <dl class="facts">
        {explanation.weights.map((weight) => (
          <>
            <dt>{weight.tier}</dt>
            <dd>
              <strong>{weight.weight}</strong> <span class="muted">{weight.source === "default" ? "the group's default" : `set${weight.set_by ? ` by ${weight.set_by}` : ""}`}</span>
              {weight.set_at && <span class="muted" title={exact(weight.set_at)}> <When at={weight.set_at} /></span>}
              {weight.reason && <div class="small">“{weight.reason}”</div>}
            </dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

function Neighbours({ group, explanation }: { group: string; explanation: Explanation }) {
  const one = (title: string, neighbour: Neighbour | null, none: string) => (
    <div class="stack tight">
      <h3>{title}</h3>
      {!neighbour ? (
        <p class="muted">{none}</p>
      ) : (
        <>
          {neighbour.who ? (
            <div>
              {neighbour.who.user_uuid && neighbour.who.project_id ? (
                <Link href={groupPath(group, "explain", "user", memberId({ user: neighbour.who.user_uuid, project: neighbour.who.project_id }))}>{nameOf(neighbour.who)}</Link>
              ) : (
                nameOf(neighbour.who)
              )}
              {neighbour.place && <span class="muted"> at place {neighbour.place}</span>}
            </div>
          ) : (
            <div>Another {explanation.tier}, which your key may not see</div>
          )}
          <p><Said text={neighbour.because} /></p>
        </>
      )}
    </div>
  );
  return (
    <Card title="Who comes before and after">
      {one("Directly before", explanation.above, "This is the first place.")}
      {one("Directly after", explanation.below, "This is the last place.")}
    </Card>
  );
}

interface ChangeProps {
  group: string;
  subject: Record<string, string>;
  explanation: Explanation;
  /** The text of the field, and the place that it names. */
  typed: string;
  place: number | null;
  ask: (place: string | null) => void;
}

function Change({ group, subject, explanation, typed, place, ask }: ChangeProps) {
  const cost = explanation.costs;
  // Asked on its own, so that the page stays whatever is typed.
  const answer = useQuery(EXPLAIN, place === null ? null : { group, ...subject, place });
  const there = place === null ? explanation : answer.data && !answer.isLoading ? (JSON.parse(answer.data.explain_fair_share) as Explanation) : null;
  const fault = typed !== "" && place === null ? `There is no place ${typed}: the places are 1 to ${explanation.of}.` : answer.error?.message;
  return (
    <Card title="What would change it">
      {cost && (
        <p>
          {percent(num(cost.normalized_usage))} of the look-back's capacity more, and it would be place {cost.place}: {Object.entries(cost.any_of).map(([slot, value]) => `${significant(hours(slot, value), 3)} ${hoursOf(slot)}`).join(", or ")}.
        </p>
      )}
      <Field label="Which weight leads to place" hint={`1 to ${explanation.of}, if all else stays as it is.`} fault={fault}>
        {(props) => <input {...props} inputMode="numeric" style={{ maxWidth: "120px" }} value={typed} onInput={(event) => ask(event.currentTarget.value.trim())} />}
      </Field>
      <ul aria-live="polite">
        {!fault &&
          there?.weights_for_places.map((wanted) => (
            <li key={wanted.wanted}>
              {wanted.weight === null ? <>No weight leads to place {wanted.wanted}.</> : <>A weight of <strong>{wanted.weight}</strong> leads to place {wanted.place ?? wanted.wanted}.</>}
            </li>
          ))}
      </ul>
    </Card>
  );
}
