// The jobs of the service: their schedules and last runs, and running one now.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { graphql } from "../../gql.ts";
import { ApiError, request } from "../../lib/client.ts";
import { gapPolicy } from "../../lib/gaps.ts";
import { count } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { duration, exact } from "../../lib/time.ts";
import { Button, Card, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Said } from "../../ui/Said.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { nextRun } from "./nextRun.ts";

const JOBS = graphql(`
  query Jobs {
    jobs { name description scope schedule next_run_at last_runs { resource_group status started_at ended_at error counts } }
  }
`);
const RUNS = graphql(`
  query Runs($first: Int!, $offset: Int!) {
    job_runs(first: $first, offset: $offset) {
      count
      edges { node { id job resource_group trigger status started_at ended_at counts error } }
    }
  }
`);
const RUN = graphql(`mutation RunJob($name: String!, $group: String) { run_job(name: $name, resource_group: $group) { status } }`);
const GAPS = graphql(`
  query Gaps($group: String!) {
    usage_gaps(resource_group: $group, first: 20) { count edges { node { started_at ended_at kernels gap_policy handled_at } } }
  }
`);
const PAGE = 20;

const kind = (status: string): string => (status === "succeeded" ? "good" : status === "running" ? "" : "bad");

export default function Jobs({ group }: PageProps) {
  const [params, change] = useParams();
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const jobs = useQuery(JOBS, {});
  const runs = useQuery(RUNS, { first: PAGE, offset: (page - 1) * PAGE });
  const gaps = useQuery(GAPS, { group });
  const reload = () => {
    jobs.reload();
    runs.reload();
  };
  return (
    <Page
      title="Jobs"
      about="What the server does by itself: it records usage, calculates factors, tidies up. Runs catch up, so a missed one costs nothing."
      actions={<CopyAs action={{ document: JOBS, variables: {}, rest: { path: ["jobs"] }, command: ["jobs", "list"] }} />}
    >
      <Card title="Jobs" flush>
        <Shown answer={jobs}>
          {(data) => (
            <Scroll>
              <table class="data cards">
                <caption class="visually-hidden">Jobs and their last runs</caption>
                <thead>
                  <tr>
                    <th scope="col" class="name wide">Job</th>
                    <th scope="col">Schedule</th>
                    <th scope="col">Next run</th>
                    <th scope="col">Last run for {group}</th>
                    {isAdmin() && <th scope="col">Run</th>}
                  </tr>
                </thead>
                <tbody>
                  {data.jobs.map((job) => {
                    const of = job.scope === "server" ? null : group;
                    const last = job.last_runs.find((run) => run.resource_group === of);
                    return (
                      <tr key={job.name}>
                        <th scope="row" class="name wide">
                          {job.name} {job.scope === "server" && <span class="pill">of the server</span>}
                          <div class="muted small"><Said text={job.description} /></div>
                        </th>
                        <td class="nowrap">{job.schedule ? <code title="UTC: second, minute, hour, day of month, month, day of week">{job.schedule}</code> : <span class="muted">on request</span>}</td>
                        <td class="nowrap">{job.next_run_at ? <time dateTime={job.next_run_at} title={exact(job.next_run_at)}>{nextRun(job.next_run_at)}</time> : "–"}</td>
                        <td>
                          {last ? (
                            <>
                              <span class={`pill ${kind(last.status)}`}>{last.status}</span> <When at={last.started_at} />
                              {last.error && <div class="bad small">{last.error}</div>}
                            </>
                          ) : (
                            <span class="muted">never</span>
                          )}
                        </td>
                        {isAdmin() && (
                          <td class="act">
                            <RunNow name={job.name} group={of} then={reload} />
                          </td>
                        )}
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </Scroll>
          )}
        </Shown>
      </Card>
      <Card title="Runs" flush>
        <Shown answer={runs}>
          {(data) =>
            data.job_runs.count === 0 ? (
              <Empty title="No job has run yet" />
            ) : (
              <>
                <Scroll>
                  <table class="data cards">
                    <caption class="visually-hidden">Runs, newest first</caption>
                    <thead>
                      <tr>
                        <th scope="col">Job</th>
                        <th scope="col">Group</th>
                        <th scope="col">Status</th>
                        <th scope="col">Began</th>
                        <th scope="col" class="number">Took</th>
                        <th scope="col">What it did</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.job_runs.edges.map(({ node }) => (
                        <tr key={node.id}>
                          <th scope="row">{node.job}</th>
                          <td class="wrap">{node.resource_group ?? "–"}</td>
                          <td><span class={`pill ${kind(node.status)}`}>{node.status}</span></td>
                          <td class="nowrap"><When at={node.started_at} /></td>
                          <td class="number">{node.ended_at ? took(node.started_at, node.ended_at) : "–"}</td>
                          <td class="wrap small all" style={{ minWidth: "160px" }}>{node.error ?? counts(node.counts)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
                <Pager page={page} size={PAGE} count={data.job_runs.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
              </>
            )
          }
        </Shown>
      </Card>
      <Card title="Gaps of this group" flush>
        <Shown answer={gaps}>
          {(data) =>
            data.usage_gaps.count === 0 ? (
              <Empty title="No gap">No downtime of the service has cost or stretched any usage.</Empty>
            ) : (
              <Scroll>
                <table class="data cards">
                  <caption class="visually-hidden">Gaps, newest first</caption>
                  <thead>
                    <tr>
                      <th scope="col">Began</th>
                      <th scope="col" class="number">Lasted</th>
                      <th scope="col" class="number">Kernels across it</th>
                      <th scope="col">Their time in it</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.usage_gaps.edges.map(({ node }) => (
                      <tr key={node.started_at}>
                        <th scope="row"><When at={node.started_at} /></th>
                        <td class="number">{duration((Date.parse(node.ended_at) - Date.parse(node.started_at)) / 1000)}</td>
                        <td class="number">{node.kernels}</td>
                        <td>{gapPolicy(node.gap_policy)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </Shown>
      </Card>
    </Page>
  );
}

function took(from: string, to: string): string {
  const ms = Date.parse(to) - Date.parse(from);
  return ms < 1000 ? `${ms} ms` : duration(ms / 1000);
}

function counts(json: string): string {
  const all = Object.entries(JSON.parse(json) as Record<string, unknown>).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0);
  const counted = (name: string, value: number): string => (value === 1 ? name.replace(/s(?=_|$)/, "") : name).replaceAll("_", " ");
  return all.map(([name, value]) => `${count(value)} ${counted(name, value)}`).join(", ") || "nothing to do";
}

function RunNow({ name, group, then }: { name: string; group: string | null; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const answer = await request(RUN, { name, group });
      done.value = { text: `The job ${name} ran: ${answer.run_job.map((run) => run.status).join(", ") || "nothing to do"}.` };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      done.value = { text: `The job ${name} did not run: ${error.message}` };
    }
    setBusy(false);
    then();
  };
  return (
    <span class="row">
      <Button small disabled={busy} onClick={() => void run()} aria-label={`Run ${name} now`}>
        {busy ? "Runs…" : "Run now"}
      </Button>
      <CopyAs
        what={`the run of ${name}`}
        action={{ document: RUN, variables: { name, group }, rest: { method: "POST", path: ["jobs", name, "run"], body: { resource_group: group } }, command: ["jobs", "run", name, ["--group", group]] }}
      />
    </span>
  );
}
