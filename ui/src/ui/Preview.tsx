// The effects of a change before it is made: users who rise and fall, and figures that change.
import { useEffect, useState } from "preact/hooks";
import { simulate, type Change, type Changed, type Simulated } from "../lib/change.ts";
import { ApiError } from "../lib/client.ts";
import { factor, num, percent, points, significant } from "../lib/numbers.ts";
import { revision } from "../lib/query.ts";
import { summary } from "../lib/summary.ts";
import { Note } from "./Basics.tsx";
import { Said } from "./Said.tsx";
import { Scroll } from "./Scroll.tsx";
import { SlopeChart } from "./SlopeChart.tsx";
import { Failure, Loading } from "./States.tsx";

export interface Simulation {
  /** The effects of exactly this change; `undefined`: not known yet. */
  data: Simulated | undefined;
  error: ApiError | undefined;
  retry: () => void;
}

/** The simulation of `change`, asked for once the form has not changed for a moment. An answer to what was typed before is none. */
export function useSimulation(group: string, change: Change | null): Simulation {
  const [state, setState] = useState<{ key: string; data?: Simulated; error?: ApiError }>({ key: "" });
  const [turn, setTurn] = useState(0);
  const text = change ? JSON.stringify(change) : "";
  const key = `${group} ${text}`;
  const seen = revision.value;
  useEffect(() => {
    if (!text) return;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      simulate(group, JSON.parse(text) as Change, aborter.signal).then(
        (data) => setState({ key, data }),
        (error: unknown) => {
          if (!aborter.signal.aborted && error instanceof ApiError) setState({ key, error });
        },
      );
    }, 200);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [group, text, key, seen, turn]);
  const known = text && state.key === key ? state : undefined;
  return { data: known?.data, error: known?.error, retry: () => setTurn((n) => n + 1) };
}

/** Why what was typed cannot be written yet. */
export function Calculating() {
  return <span class="muted small">Calculating what this changes…</span>;
}

interface PreviewProps extends Simulation {
  brief?: boolean;
  /** Warnings that the group has without the change as well: a brief preview does not repeat them. */
  knownWarnings?: string[] | undefined;
  /** The owner of each workload, as far as it is known. */
  owners?: Map<string, string>;
}

export function Preview({ data, error, retry, brief, knownWarnings, owners }: PreviewProps) {
  if (error) {
    return <Failure error={error} {...(error.faults.length === 0 ? { retry } : {})} />;
  }
  if (!data) return <Loading />;
  const movers = [...data.winners.slice(0, brief ? 4 : 10), ...data.losers.slice(0, brief ? 4 : 10)];
  const warnings = brief ? data.warnings.filter(({ detail }) => !knownWarnings?.includes(detail)) : data.warnings;
  return (
    <section class="stack" aria-label="What would change" aria-live="polite">
      <p>
        <strong>{summary(data)}</strong>
      </p>
      {warnings.map((warning) => (
        <Note key={warning.detail} kind="warn">
          <Said text={warning.detail} />
        </Note>
      ))}
      {!brief && data.fairness.length > 0 && <Fairness data={data} />}
      {!brief && Math.max(data.users.risen, data.users.fallen) > 10 && <p class="muted small">The 10 largest moves each way.</p>}
      {movers.length > 0 && (brief ? <Movers data={data} /> : <SlopeChart movers={movers} />)}
      {!brief && data.workloads && <Orders data={data} owners={owners} />}
      {!brief && <Figures title="Domains" rows={data.domains.items} of={data.domains.changed} />}
      {!brief && <Figures title="Projects" rows={data.projects.items} of={data.projects.changed} />}
      {!brief && <Figures title="Users" rows={data.users.items} of={data.users.changed} />}
    </section>
  );
}

function Fairness({ data }: { data: Simulated }) {
  return (
    <details open>
      <summary>Misallocated share, with today's weights and with these</summary>
      <Scroll>
        <table class="data cards">
          <caption class="visually-hidden">Misallocated share and Jain's index before and after</caption>
          <thead>
            <tr>
              <th scope="col">Among</th>
              <th scope="col" class="number">Days</th>
              <th scope="col" class="number" data-name="Misallocated share now">Now</th>
              <th scope="col" class="number" data-name="Misallocated share then">Then</th>
              <th scope="col" class="number wraps">Jain's index now</th>
              <th scope="col" class="number" data-name="Jain's index then">Then</th>
            </tr>
          </thead>
          <tbody>
            {data.fairness.map((change) => (
              <tr key={`${change.tier} ${change.window_days}`}>
                <th scope="row">{change.tier}s</th>
                <td class="number">{change.window_days}</td>
                <td class="number" title={change.misallocated_share_before}>{percent(num(change.misallocated_share_before))}</td>
                <td class="number" title={change.misallocated_share_after}>
                  {percent(num(change.misallocated_share_after))}
                  <div class="small">{trend(num(change.misallocated_share_after) - num(change.misallocated_share_before))}</div>
                </td>
                <td class="number" title={change.jains_index_before}>{significant(num(change.jains_index_before), 3)}</td>
                <td class="number" title={change.jains_index_after}>{significant(num(change.jains_index_after), 3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}

/** By how much the misallocated share changes. */
const trend = (by: number): string => (by === 0 ? "" : points(by));

function Movers({ data }: { data: Simulated }) {
  const list = (movers: Simulated["winners"], kind: string, arrow: string) =>
    movers.slice(0, 4).map((mover) => (
      <span key={mover.user_uuid + mover.project_id} class={`pill ${kind}`}>
        {arrow} {mover.user_name ?? mover.user_uuid}: {mover.rank_before} → {mover.rank_after}
      </span>
    ));
  return (
    <div class="row">
      {list(data.winners, "good", "▲")}
      {list(data.losers, "bad", "▼")}
    </div>
  );
}

/** How many places of the order are shown. */
const PLACES = 20;

function Orders({ data, owners }: { data: Simulated; owners: Map<string, string> | undefined }) {
  const items = data.workloads?.items ?? [];
  const moved = items.filter((item) => item.position_before !== item.position_after);
  if (moved.length === 0) return <p>Pending work would start in the same order.</p>;
  return (
    <details open>
      <summary>
        {moved.length} of {items.length} pending workloads would start in another order
      </summary>
      <Scroll>
        <table class="data cards">
          <caption class="visually-hidden">The order of pending work, first to start then first</caption>
          <thead>
            <tr>
              <th scope="col" class="number">Then</th>
              <th scope="col" class="number">Now</th>
              <th scope="col" class="name">Owner</th>
              <th scope="col">Workload</th>
            </tr>
          </thead>
          <tbody>
            {items.slice(0, PLACES).map((item) => (
              <tr key={item.workload_id}>
                <td class="number">{item.position_after}</td>
                <td class="number">{item.position_before}</td>
                <th scope="row" class="name">{owners?.get(item.workload_id) ?? "–"}</th>
                <td class="mono small" data-value={item.workload_id} title={item.workload_id}>{item.workload_id.slice(0, 8)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {items.length > PLACES && <p class="muted small">The first {PLACES} of {items.length}.</p>}
    </details>
  );
}

const nameOf = (row: Changed): string => row.user_name ?? row.user_uuid ?? row.project_name ?? row.project_id ?? row.domain_name ?? "";

function Figures({ title, rows, of }: { title: string; rows: Changed[]; of: number }) {
  if (rows.length === 0) return null;
  return (
    <details open={rows.length <= 12}>
      <summary>
        {title}: {of} with other figures
      </summary>
      <Scroll>
        <table class="data cards">
          <caption class="visually-hidden">{title} before and after</caption>
          <thead>
            <tr>
              <th scope="col" class="name">Name</th>
              <th scope="col" class="number">Weight</th>
              <th scope="col" class="number">Usage</th>
              <th scope="col" class="number">Factor</th>
              <th scope="col" class="number">Rank</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.domain_name} ${row.project_id} ${row.user_uuid}`}>
                <th scope="row" class="name">
                  {nameOf(row)}
                  {row.user_uuid && <div class="muted small">{row.project_name}</div>}
                </th>
                <td class="number">{pair(row.before?.effective_weight, row.after?.effective_weight)}</td>
                <td class="number">{pair(shownUsage(row.before?.effective_usage), shownUsage(row.after?.effective_usage))}</td>
                <td class="number">{pair(row.before && factor(row.before.fair_share_factor), row.after && factor(row.after.fair_share_factor))}</td>
                <td class="number">{pair(row.before?.rank, row.after?.rank)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {of > rows.length && <p class="muted small">The {rows.length} whose rank changes most.</p>}
    </details>
  );
}

const shownUsage = (usage: string | undefined): string | undefined => (usage === undefined ? undefined : significant(num(usage), 3));

function pair(before: string | number | null | undefined, after: string | number | null | undefined): string {
  if (before === after) return String(before ?? "–");
  return `${before ?? "–"} → ${after ?? "–"}`;
}
