// The misallocated share of a group: by window and tier, over time, and the owners that received too much or too little.
import { useMemo } from "preact/hooks";
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { graphql, type ResultOf } from "../../gql.ts";
import { fullBar } from "../../lib/fullBar.ts";
import { facts } from "../../lib/metadata.ts";
import { num, percent, points, roundPercent, significant } from "../../lib/numbers.ts";
import { usePastDay } from "../../lib/past.ts";
import { useArchived } from "../../lib/archived.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId, useParams } from "../../lib/route.ts";
import { isUser } from "../../lib/session.ts";
import { plusDays, shortDay, today, yesterday } from "../../lib/time.ts";
import { Archived } from "../../ui/Archived.tsx";
import { ShareBar } from "../../ui/Bars.tsx";
import { Card, Figures, Page, Tabs } from "../../ui/Basics.tsx";
import { Chart } from "../../ui/LateChart.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { TimeControl } from "../../ui/TimeControl.tsx";
import { daysOf, endingAt, windowName } from "./windows.ts";

const FAIRNESS = graphql(`
  query Fairness($group: String!, $window: String!, $tier: FairnessTier!, $first: Int!, $offset: Int!) {
    fairness(resource_group: $group, window: $window, tier: $tier) {
      misallocated_share jains_index active
      entries(first: $first, offset: $offset) {
        count
        edges { node { domain_name project_id project_name user_uuid user_name used_share entitled_share ratio error demand_limited } }
      }
    }
  }
`);
const HISTORY = graphql(`
  query FairnessHistory($group: String!, $from: Date!, $to: Date!, $tier: FairnessTier!) {
    fairness_history(resource_group: $group, from: $from, to: $to, tier: $tier, first: 1000) {
      edges { node { day misallocated_share jains_index active } }
    }
  }
`);

type Entry = ResultOf<typeof FAIRNESS>["fairness"]["entries"]["edges"][number]["node"];
type Tier = "DOMAIN" | "PROJECT" | "USER";

const TIERS: [string, string][] = [
  ["DOMAIN", "Domains"],
  ["PROJECT", "Projects"],
  ["USER", "Users"],
];
const PAGE = 50;

export default function Fairness({ group }: PageProps) {
  const [params, change] = useParams();
  const [day, choose] = usePastDay(yesterday());
  const windows = facts().fairness_windows.filter((id) => day === null || daysOf(id) > 0).map((id): [string, string] => [id, windowName(id)]);
  const window = windows.find(([id]) => id === params.get("window"))?.[0] ?? "7d";
  // A key of a user has rows of its own tier only.
  const usual: Tier = isUser() ? "USER" : "DOMAIN";
  const tier = (params.get("tier") ?? usual) as Tier;
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const asked = day === null ? window : endingAt(day, daysOf(window));
  const answer = useQuery(FAIRNESS, { group, window: asked, tier, first: PAGE, offset: (page - 1) * PAGE });
  return (
    <Page title="Fairness" about="The usage of each owner beside the share that its weight entitles it to. Shares that an owner did not ask for go to the others." actions={<CopyAs action={{ document: FAIRNESS, variables: { group, window: asked, tier, first: PAGE, offset: 0 }, rest: { path: ["resource-groups", group, "fairness"], query: { window: asked, tier: tier.toLowerCase() } }, command: ["fairness", group, ["--window", asked], ["--tier", tier.toLowerCase()]] }} />}>
      <TimeControl day={day} choose={choose} last={yesterday()} />
      <div class="row">
        <Tabs label="Window" tabs={windows} chosen={window} choose={(next) => change({ window: next === "7d" ? null : next, page: null })} />
        <Tabs label="Tier" tabs={TIERS} chosen={tier} choose={(next) => change({ tier: next === usual ? null : next, page: null })} />
      </div>
      {day !== null && answer.error?.faults.some((fault) => fault.code === "out_of_range") ? (
        <Empty title={`Usage is not kept until ${shortDay(day)}`}>The server keeps what was used for a limited time; a shorter window or a later day may have it.</Empty>
      ) : (
        <Shown answer={answer}>
          {({ fairness }) => (
            <>
              <Figures
                items={[
                  ["Misallocated share", fairness.active === 0 ? "–" : percent(num(fairness.misallocated_share)), "Half of the sum of what everyone used beyond or short of the entitlement, as a part of all that was used"],
                  ["Jain's index", fairness.active === 0 ? "–" : significant(num(fairness.jains_index), 3), "Fairness of used over entitled: 1 if all are served alike, 1 divided by their number if one has everything"],
                  ["Active", fairness.active, "Used something in the window, or hold or ask for something now"],
                ]}
              />
              <OverTime group={group} tier={tier} last={day ?? today()} />
              {isUser() && tier !== "USER" ? (
                <p class="muted">Your key shows how this tier is served as a whole. Your own part is under “Users”.</p>
              ) : (
                <Card title={isUser() ? "You" : "The most under-served first"} flush>
                  {fairness.entries.count === 0 ? (
                    <Empty title={isUser() ? "You were not active" : "There was no activity"}>Nothing was used in this window, and nothing is asked for now.</Empty>
                  ) : (
                    <>
                      <Entries group={group} entries={fairness.entries.edges.map((edge) => edge.node)} />
                      <Pager page={page} size={PAGE} count={fairness.entries.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
                    </>
                  )}
                </Card>
              )}
            </>
          )}
        </Shown>
      )}
    </Page>
  );
}

const nameOf = (entry: Entry): string => entry.user_name ?? entry.user_uuid ?? entry.project_name ?? entry.project_id ?? entry.domain_name;

function pathOf(group: string, entry: Entry): string {
  if (entry.user_uuid && entry.project_id) return groupPath(group, "entity", "user", memberId({ user: entry.user_uuid, project: entry.project_id }));
  return entry.project_id ? groupPath(group, "entity", "project", entry.project_id) : groupPath(group, "entity", "domain", entry.domain_name);
}

function Entries({ group, entries }: { group: string; entries: Entry[] }) {
  const isArchived = useArchived();
  const full = fullBar(entries.flatMap((entry) => [num(entry.used_share), num(entry.entitled_share)]));
  return (
    <Scroll>
      <table class="data cards">
        <caption class="visually-hidden">Used and entitled shares, the most under-served first</caption>
        <thead>
          <tr>
            <th scope="col" class="name">Name</th>
            <th scope="col" class="wide-only" style={{ minWidth: "140px" }} data-name="Used and entitled">
              Used, and the mark: entitled
              <div class="small muted">full bar: {roundPercent(full)}</div>
            </th>
            <th scope="col" class="number" title="Part of the group's usage">Used</th>
            <th scope="col" class="number" title="By weight, among those that are active">Entitled</th>
            <th scope="col" class="number" title="Used divided by entitled">Ratio</th>
            <th scope="col" class="number" title="Used less entitled, in percentage points">Difference</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={pathOf(group, entry)}>
              <th scope="row" class="name">
                {isUser() ? nameOf(entry) : <Link href={pathOf(group, entry)}>{nameOf(entry)}</Link>}
                <Archived is={isArchived(entry)} />
                {entry.demand_limited && <div class="muted small">asked for less than its share</div>}
              </th>
              <td class="wide-only"><ShareBar used={num(entry.used_share)} entitled={num(entry.entitled_share)} of={full} /></td>
              <td class="number" title={entry.used_share}>{percent(num(entry.used_share))}</td>
              <td class="number" title={entry.entitled_share}>{percent(num(entry.entitled_share))}</td>
              <td class="number">{significant(num(entry.ratio), 3)}</td>
              <td class="number" title={entry.error}>{points(num(entry.error))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

function OverTime({ group, tier, last }: { group: string; tier: Tier; last: string }) {
  const answer = useQuery(HISTORY, { group, tier, from: plusDays(last, -60), to: last });
  const chart = useMemo(() => {
    const days = (answer.data?.fairness_history.edges ?? []).map((edge) => edge.node).toSorted((a, b) => a.day.localeCompare(b.day));
    return {
      times: days.map((day) => Date.parse(`${day.day}T00:00:00Z`) / 1000),
      misallocated: [{ name: "Misallocated share, %", values: days.map((day) => (day.active === 0 ? null : 100 * num(day.misallocated_share))), colour: "--accent" }],
      jains: [{ name: "Jain's index", values: days.map((day) => (day.active === 0 ? null : num(day.jains_index))), colour: "--accent" }],
    };
  }, [answer.data]);
  return (
    <Card title="Each day on its own, as it was recorded that day" aside={<span class="muted small">days of UTC</span>}>
      <Shown answer={answer}>
        {() =>
          chart.times.length === 0 ? (
            <Empty title="No day is stored yet">The first run of a day writes how fair the day before it was.</Empty>
          ) : (
            <>
              <div class="grid">
                <Chart title="Misallocated share by day, in percent of all usage" times={chart.times} series={chart.misallocated} shown={asPercent} when={dayOf} height={220} />
                <Chart title="Jain's index by day" times={chart.times} series={chart.jains} shown={shown} when={dayOf} height={220} />
              </div>
              <p class="muted small">A day is judged by the work that still waited at its end: what no other owner asked for is not misallocated.</p>
            </>
          )
        }
      </Shown>
    </Card>
  );
}

const shown = (value: number): string => significant(value, 3);
const asPercent = (value: number): string => `${significant(value, 3)} %`;
