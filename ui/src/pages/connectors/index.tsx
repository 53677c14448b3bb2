// The connectors of other schedulers, and how their order and that of the group agree.
import type { PageProps } from "../../App.tsx";
import { graphql, type ResultOf } from "../../gql.ts";
import { count, percent, signed, significant } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { Card, Figures, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { sideBySide, sumOfOwners, type ComparedPlace } from "./orders.ts";

const CONNECTORS = graphql(`
  query Connectors {
    connectors { cluster kind version mode resource_group last_round_at last }
  }
`);
const REPORT = graphql(`
  query ShadowReport($group: String!) {
    shadow_report(resource_group: $group) {
      cluster mode
      latest { taken_at compared same_place kendall_tau ours { workload_id user_name project_name place current_place } }
      days { date rounds compared same_place kendall_tau }
      owners { user_name project_name places_gained }
    }
  }
`);

type Report = NonNullable<ResultOf<typeof REPORT>["shadow_report"]>;

/** The parts of a connector's last round that the list shows. */
interface LastRound {
  pending: number;
  compared: number;
  same_place: number;
  written: number;
  errors: { code: string; detail: string }[];
}

const MODES: Record<string, string> = {
  shadow: "Nothing is written: both orders are compared",
  factor: "Each owner's rank is written",
  order: "The exact order of the first workloads is written",
  weights: "Each queue's weight is written",
};

const tau = (value: number | null | undefined): string => (value === null || value === undefined ? "–" : significant(value, 3));
const part = (same: number, compared: number): string => (compared === 0 ? "–" : percent(same / compared));

export default function Connectors({ group }: PageProps) {
  const connectors = useQuery(CONNECTORS, {});
  const report = useQuery(REPORT, { group });
  return (
    <Page
      title="Connectors"
      about="Processes beside other schedulers. They report jobs, and give the scheduler our order, or only compare both orders."
      actions={<CopyAs action={{ document: CONNECTORS, variables: {}, rest: { path: ["connectors"] }, command: ["connectors", "list"] }} />}
    >
      <Card title="Connectors" flush>
        <Shown answer={connectors}>
          {(data) =>
            data.connectors.length === 0 ? (
              <Empty title="No connector has reported a round">A connector reports each of its rounds to this server.</Empty>
            ) : (
              <Scroll>
                <table class="data cards">
                  <caption class="visually-hidden">Connectors and their last rounds</caption>
                  <thead>
                    <tr>
                      <th scope="col" class="name">Cluster</th>
                      <th scope="col">Mode</th>
                      <th scope="col">Group</th>
                      <th scope="col">Last round</th>
                      <th scope="col" class="number">Pending</th>
                      <th scope="col" class="number" title="Compared workloads with the same place in both orders">Same place</th>
                      <th scope="col" class="number">Written</th>
                      <th scope="col">Errors</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.connectors.map((connector) => {
                      const last = JSON.parse(connector.last) as LastRound;
                      return (
                        <tr key={JSON.stringify([connector.cluster, connector.resource_group])}>
                          <th scope="row" class="name">
                            {connector.cluster}
                            <div class="muted small">{connector.kind}, {connector.version}</div>
                          </th>
                          <td><span class="pill" title={MODES[connector.mode]}>{connector.mode}</span></td>
                          <td class="wrap">{connector.resource_group}</td>
                          <td class="nowrap"><When at={connector.last_round_at} /></td>
                          <td class="number">{count(last.pending)}</td>
                          <td class="number">{last.compared === 0 ? "–" : `${count(last.same_place)} of ${count(last.compared)}`}</td>
                          <td class="number">{count(last.written)}</td>
                          <td class="wrap">
                            {last.errors.length === 0 ? "none" : last.errors.map((error) => <div key={error.code + error.detail} class="bad small" title={error.detail}>{error.code}</div>)}
                          </td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </Shown>
      </Card>
      <Shown answer={report}>
        {(data) => (data.shadow_report ? <Agreement group={group} report={data.shadow_report} /> : <Empty title="No orders were compared yet">Once a connector of {group} sends the order of its scheduler, both orders stand here side by side.</Empty>)}
      </Shown>
    </Page>
  );
}

function Agreement({ group, report }: { group: string; report: Report }) {
  const { latest, days } = report;
  const owners = sumOfOwners(report.owners);
  return (
    <>
      <Card
        title={<>The last comparison, {report.cluster} in the mode {report.mode}</>}
        aside={<CopyAs action={{ document: REPORT, variables: { group }, rest: { path: ["resource-groups", group, "shadow-report"] }, command: ["connectors", "report", group] }} />}
      >
        <Figures
          items={[
            ["Compared", count(latest.compared), "Workloads that both orders have"],
            ["Same place", part(latest.same_place, latest.compared), "The part of them that has the same place in both"],
            ["Kendall's tau", tau(latest.kendall_tau), "1 for equal orders, -1 for an order and its reverse"],
            ["Taken", <When key="taken" at={latest.taken_at} />],
          ]}
        />
      </Card>
      <Card title="Both orders side by side" flush>
        <Scroll>
          <table class="data cards">
            <caption class="visually-hidden">The first places of both orders</caption>
            <thead>
              <tr>
                <th scope="col" class="number">Place</th>
                <th scope="col" class="name">Ours</th>
                <th scope="col" class="name">{report.cluster} now</th>
                <th scope="col" class="number" title="How many places further ahead our workload stands than now">Gains</th>
              </tr>
            </thead>
            <tbody>
              {sideBySide(latest.ours).map(({ place, ours, current }) => (
                <tr key={place}>
                  <th scope="row" class="number">{count(place)}</th>
                  <td class="name"><Workload row={ours} /></td>
                  <td class="name"><Workload row={current} /></td>
                  <td class="number">{ours ? signed(ours.current_place - ours.place, count) : "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Card>
      {days.length > 0 && (
        <Card title="By day" flush>
          <Scroll>
            <table class="data cards">
              <caption class="visually-hidden">Compared rounds by day</caption>
              <thead>
                <tr>
                  <th scope="col">Day</th>
                  <th scope="col" class="number">Rounds</th>
                  <th scope="col" class="number" title="Workloads of all rounds">Compared</th>
                  <th scope="col" class="number">Same place</th>
                  <th scope="col" class="number" title="The mean of all rounds">Kendall's tau</th>
                </tr>
              </thead>
              <tbody>
                {days.toReversed().map((day) => (
                  <tr key={day.date}>
                    <th scope="row" class="nowrap">{day.date}</th>
                    <td class="number">{count(day.rounds)}</td>
                    <td class="number">{count(day.compared)}</td>
                    <td class="number">{part(day.same_place, day.compared)}</td>
                    <td class="number">{tau(day.kendall_tau)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Card>
      )}
      {owners.length > 0 && (
        <Card title="Who gains and who loses, all these days together" flush>
          <Scroll>
            <table class="data cards">
              <caption class="visually-hidden">Places gained by owner, the most first</caption>
              <thead>
                <tr>
                  <th scope="col" class="name">User</th>
                  <th scope="col">Project</th>
                  <th scope="col" class="number" title="Places further ahead in our order, summed over rounds and workloads">Places gained</th>
                </tr>
              </thead>
              <tbody>
                {owners.map((owner) => (
                  <tr key={JSON.stringify([owner.user_name, owner.project_name])}>
                    <th scope="row" class="name">{owner.user_name}</th>
                    <td class="wrap">{owner.project_name}</td>
                    <td class="number">{signed(owner.places_gained, count)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Card>
      )}
    </>
  );
}

function Workload({ row }: { row: ComparedPlace | undefined }) {
  if (!row) return <span class="muted">–</span>;
  return (
    <>
      {row.workload_id}
      <div class="muted small">{row.user_name} in {row.project_name}</div>
    </>
  );
}
