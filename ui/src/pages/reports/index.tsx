// The usage of some days and of its owners: on the screen, and as CSV.
import { Fragment } from "preact";
import type { PageProps } from "../../App.tsx";
import { graphql, type ResultOf } from "../../gql.ts";
import { ApiError, request } from "../../lib/client.ts";
import { EMPTY, type Action } from "../../lib/copy.ts";
import { download } from "../../lib/csv.ts";
import { num, percent, significant, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { today } from "../../lib/time.ts";
import { hoursOf, ordered, slotName } from "../../lib/units.ts";
import { Button, Card, Field, Page, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { classOptions, NO_CLASS } from "./classes.ts";
import { reportFile } from "./file.ts";
import { months } from "./months.ts";

const REPORT = graphql(`
  query Report($group: String!, $from: String!, $to: String!, $by: [UsageReportBy!]!, $charge_class: String, $first: Int!, $offset: Int!) {
    usage_report(resource_groups: [$group], from: $from, to: $to, by: $by, charge_class: $charge_class, first: $first, offset: $offset) {
      count
      edges { node { first_day last_day domain_name project_id project_name user_uuid user_name charge_class slot_hours capacity_share used_share entitled_share } }
    }
  }
`);

/** The charge classes with usage in some days. */
const CLASSES = graphql(`
  query ReportClasses($group: String!, $from: String!, $to: String!) {
    usage_report(resource_groups: [$group], from: $from, to: $to, by: [CHARGE_CLASS], first: 1000) {
      edges { node { charge_class } }
    }
  }
`);

export type Row = ResultOf<typeof REPORT>["usage_report"]["edges"][number]["node"];
type By = "DOMAIN" | "PROJECT" | "USER" | "CHARGE_CLASS" | "DAY" | "WEEK" | "MONTH";

const WHO: [string, string][] = [
  ["DOMAIN", "domain"],
  ["PROJECT", "project"],
  ["USER", "user"],
  ["CHARGE_CLASS", "charge class"],
  ["DOMAIN,CHARGE_CLASS", "domain and charge class"],
  ["PROJECT,CHARGE_CLASS", "project and charge class"],
  ["USER,CHARGE_CLASS", "user and charge class"],
  ["all", "all together"],
];
const STEPS: [string, string][] = [
  ["", "as a whole"],
  ["MONTH", "by month"],
  ["WEEK", "by week"],
  ["DAY", "by day"],
];
const PAGE = 100;
/** Headings take two lines, so that all columns fit beside each other. */
const WRAPS = { whiteSpace: "normal" };

export default function Reports({ group }: PageProps) {
  const [params, change] = useParams();
  const last = months(today())[1];
  const from = params.get("from") ?? last?.from ?? today();
  const to = params.get("to") ?? last?.to ?? today();
  const who = params.get("who") ?? "PROJECT";
  const step = params.get("step") ?? "";
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const by = [step, ...(who === "all" ? [] : who.split(","))].filter(Boolean) as By[];
  // A class stands behind `=`, because usage without a class can be asked for, too.
  const only = params.get("class");
  const wanted = { group, from, to, by: by.length > 0 ? by : (["MONTH"] as By[]), charge_class: only?.startsWith("=") ? only.slice(1) : null };
  const classes = useQuery(CLASSES, { group, from, to }).data?.usage_report.edges.map(({ node }) => node.charge_class ?? "") ?? [];
  const answer = useQuery(REPORT, { ...wanted, first: PAGE, offset: (page - 1) * PAGE });
  const preset = months(today()).find((month) => month.from === from && month.to === to)?.from ?? "";
  return (
    <Page
      title="Reports"
      about="What was used, in hours of each slot's unit. Days are days of UTC, and the last one is included."
      actions={<CopyAs action={reportAction(wanted)} />}
    >
      <Card>
        <div class="grid">
          <Field label="Time">
            {(props) => (
              <Select
                {...props}
                options={[["", "the days below"], ...months(today()).map((month): [string, string] => [month.from, month.name])]}
                value={preset}
                onChange={(event) => {
                  const month = months(today()).find((month) => month.from === event.currentTarget.value);
                  if (month) change({ from: month.from, to: month.to, page: null });
                }}
              />
            )}
          </Field>
          <Field label="From">{(props) => <input {...props} type="date" value={from} onChange={(event) => change({ from: event.currentTarget.value, page: null })} />}</Field>
          <Field label="To">{(props) => <input {...props} type="date" value={to} onChange={(event) => change({ to: event.currentTarget.value, page: null })} />}</Field>
          <Field label="For each">{(props) => <Select {...props} options={WHO} value={who} onChange={(event) => change({ who: event.currentTarget.value || "all", page: null })} />}</Field>
          {(only !== null || classes.some((name) => name !== "")) && (
            <Field label="Charge class">
              {(props) => <Select {...props} options={classOptions(classes, wanted.charge_class)} value={only ?? ""} onChange={(event) => change({ class: event.currentTarget.value || null, page: null })} />}
            </Field>
          )}
          <Field label="In steps">{(props) => <Select {...props} options={STEPS} value={step} onChange={(event) => change({ step: event.currentTarget.value, page: null })} />}</Field>
        </div>
      </Card>
      <Card title={`${from} to ${to}`} flush aside={<Button small onClick={() => void save(wanted)}>CSV of all rows</Button>}>
        <Shown answer={answer}>
          {({ usage_report }) =>
            usage_report.count === 0 ? (
              <Empty title="Nothing was used in these days" />
            ) : (
              <>
                <Table rows={usage_report.edges.map((edge) => edge.node)} stepped={step !== ""} />
                <p class="pad muted small">Owners without usage in these days have no row. Entitled parts follow from the present weights, among the owners with usage.</p>
                <Pager page={page} size={PAGE} count={usage_report.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
              </>
            )
          }
        </Shown>
      </Card>
    </Page>
  );
}

const classOf = (row: Row): string | null => (row.charge_class === null ? null : row.charge_class || NO_CLASS);
const nameOf = (row: Row): string => row.user_name ?? row.user_uuid ?? row.project_name ?? row.project_id ?? row.domain_name ?? classOf(row) ?? "all";
const placeOf = (row: Row): string =>
  [row.domain_name, row.user_uuid ? (row.project_name ?? row.project_id) : null, classOf(row)].filter((part) => part && part !== nameOf(row)).join(" / ");

function Table({ rows, stepped }: { rows: Row[]; stepped: boolean }) {
  const known = ordered(rows.flatMap((row) => Object.keys(slots(row.slot_hours))));
  return (
    <Scroll>
      <table class="data cards">
        <caption class="visually-hidden">Usage by row</caption>
        <thead>
          <tr>
            <th scope="col" class="name">Who</th>
            {stepped && <th scope="col">Days</th>}
            {known.map((slot) => (
              <Fragment key={slot}>
                <th scope="col" class="number" style={WRAPS}>
                  {hoursOf(slot)}
                </th>
                <th scope="col" class="number" style={WRAPS} title={`Of the ${slotName(slot)} that there was to use`}>
                  {slotName(slot)}, of capacity
                </th>
              </Fragment>
            ))}
            <th scope="col" class="number" style={WRAPS} title="Part of the usage of all rows">Part of all usage</th>
            <th scope="col" class="number" style={WRAPS} title="Share by weight, among those with usage">Entitled part</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const [hours, parts] = [slots(row.slot_hours), slots(row.capacity_share)];
            return (
              <tr key={`${row.first_day} ${row.domain_name} ${row.project_id} ${row.user_uuid} ${row.charge_class}`}>
                <th scope="row" class="name">
                  {nameOf(row)}
                  <div class="muted small">{placeOf(row)}</div>
                </th>
                {stepped && <td class="nowrap">{row.first_day === row.last_day ? row.first_day : `${row.first_day} to ${row.last_day}`}</td>}
                {known.map((slot) => (
                  <Fragment key={slot}>
                    <td class="number" title={hours[slot]}>
                      {significant(num(hours[slot]))}
                    </td>
                    <td class="number" title={parts[slot]}>
                      {parts[slot] === undefined ? "–" : percent(num(parts[slot]))}
                    </td>
                  </Fragment>
                ))}
                <td class="number" title={row.used_share ?? undefined}>{row.used_share === null ? "–" : percent(num(row.used_share))}</td>
                <td class="number" title={row.entitled_share ?? undefined}>{row.entitled_share === null ? "–" : percent(num(row.entitled_share))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

interface Wanted {
  group: string;
  from: string;
  to: string;
  by: By[];
  /** Only usage of this charge class; empty: without one. */
  charge_class: string | null;
}

function reportAction({ group, from, to, by, charge_class }: Wanted): Action {
  const parts = by.map((part) => part.toLowerCase()).join(",");
  const only = charge_class === "" ? EMPTY : charge_class;
  return {
    document: REPORT,
    variables: { group, from, to, by, charge_class, first: PAGE, offset: 0 },
    rest: { path: ["resource-groups", group, "usage-report"], query: { from, to, by: parts, charge_class: only } },
    command: ["usage", group, ["--from", from], ["--to", to], ["--by", parts], ["--charge-class", only]],
  };
}

/** All rows, not only those that are shown. */
async function save(wanted: Wanted): Promise<void> {
  try {
    const rows: Row[] = [];
    for (let offset = 0; ; offset += 1000) {
      const { usage_report } = await request(REPORT, { ...wanted, first: 1000, offset });
      rows.push(...usage_report.edges.map((edge) => edge.node));
      if (rows.length >= usage_report.count || usage_report.edges.length === 0) break;
    }
    download(`usage-${wanted.group}-${wanted.from}-${wanted.to}.csv`, reportFile(rows));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    done.value = { text: `There is no file: ${error.message}` };
  }
}
