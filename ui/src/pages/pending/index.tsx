// The workloads that wait: status, since when, and why; and the slots that are held and free beside them.
import { Link } from "wouter-preact";
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { count, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId } from "../../lib/route.ts";
import { isUser } from "../../lib/session.ts";
import { describe } from "../../lib/units.ts";
import { Button, Card, Figures, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { Occupancy } from "./Occupancy.tsx";
import { MEMBERS, PENDING, type Workload } from "./query.ts";
import { Helps } from "./Helps.tsx";
import { qualityInWords, startInWords } from "./forecasts.ts";
import { isNever, membersInWords, whyInWords } from "./reasons.ts";
import { WhatIf } from "./WhatIf.tsx";

export default function Pending({ group }: PageProps) {
  const answer = useQuery(PENDING, { group });
  return (
    <Page
      title="Pending"
      actions={<CopyAs action={{ document: PENDING, variables: { group }, rest: { path: ["resource-groups", group, "workloads"] }, command: ["workloads", "list", group] }} />}
      about={isUser() ? "Your workloads that wait to run, and why." : "Workloads that wait to run, in the order in which the scheduler would start them now."}
    >
      <Shown answer={answer}>
        {(data) => {
          const waiting = [...data.starting.edges, ...data.waiting.edges].map((edge) => edge.node);
          const all = data.starting.count + data.waiting.count;
          if (waiting.length === 0) {
            return (
              <Card>
                <Empty title={isUser() ? "Nothing of yours waits" : "Nothing waits"}>Workloads of which a scheduler reports kernels as PENDING appear here.</Empty>
              </Card>
            );
          }
          return (
            <>
              <Figures
                items={[
                  ["Waiting", count(all), isUser() ? "Your workloads" : "Gangs, and kernels of a session"],
                  ["Never", count(waiting.filter(isNever).length), "Workloads shown here that can never start as they are"],
                  ["Ordered by", data.resource_group?.scheduler ?? "–"],
                  ["Forecasts", qualityInWords(data.forecasts), "The last starts that were between the two times of their first forecast; 80 of 100 are meant to be"],
                  [isUser() ? "Waited for in the group" : "Waited for", <small>{describe(slots(data.resource_group?.waiting))}</small>, "By all kernels that wait, together"],
                ]}
              />
              <Waiting group={group} workloads={waiting.toSorted(byPosition)} count={all} />
            </>
          );
        }}
      </Shown>
      {!isUser() && <Occupancy group={group} />}
    </Page>
  );
}

/** What can never start has no position and comes last. */
const byPosition = (a: Workload, b: Workload): number => (a.position ?? Number.MAX_SAFE_INTEGER) - (b.position ?? Number.MAX_SAFE_INTEGER);

function Waiting({ group, workloads, count: all }: { group: string; workloads: Workload[]; count: number }) {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Card flush>
      <Scroll>
        <table class="data cards narrow">
          <caption class="visually-hidden">What waits, the next first</caption>
          <thead>
            <tr>
              <th scope="col" class="number">Position</th>
              <th scope="col" class="name wide">Owner</th>
              <th scope="col">Workload</th>
              <th scope="col">Status</th>
              <th scope="col">Waiting since</th>
              <th scope="col">Asks for</th>
              <th scope="col">When it starts</th>
              <th scope="col" style={{ minWidth: "200px" }}>Why it waits</th>
              <th scope="col"><span class="visually-hidden">More</span></th>
            </tr>
          </thead>
          <tbody>
            {workloads.map((workload) => (
              <Row key={workload.workload_id} group={group} workload={workload} isOpen={open === workload.workload_id} toggle={() => setOpen(open === workload.workload_id ? null : workload.workload_id)} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {all > workloads.length && <p class="pad muted small">{`The first ${count(workloads.length)} of ${count(all)}.`}</p>}
    </Card>
  );
}

function Row({ group, workload, isOpen, toggle }: { group: string; workload: Workload; isOpen: boolean; toggle: () => void }) {
  const owner = memberId({ user: workload.user_uuid, project: workload.project_id });
  return (
    <>
      <tr>
        <td class="number">{workload.position ?? "–"}</td>
        <th scope="row" class="name wide">
          <Link href={groupPath(group, "explain", "user", owner)}>{workload.user ?? workload.user_uuid}</Link>
          <div class="muted small">{workload.project ?? workload.project_id}, {workload.queue}</div>
        </th>
        <td class="mono small" data-value={workload.workload_id} title={workload.workload_id}>{workload.workload_id.length > 20 ? workload.workload_id.slice(0, 8) : workload.workload_id}</td>
        <td>{workload.status.toLowerCase()}<div class="muted small">{membersInWords(workload.members)}</div></td>
        <td data-value={workload.waiting_since ?? ""}>{workload.waiting_since ? <When at={workload.waiting_since} /> : "not known"}</td>
        <td class="small all">{describe(slots(workload.requested_slots))}</td>
        <td class="small all" data-value={workload.forecast?.p50 ?? ""}>{startInWords(workload.forecast)}</td>
        <td class="small all">{workload.waiting ? whyInWords(workload.waiting, isNever(workload)) : whereItStands(workload)}</td>
        <td class="act">
          <Button small aria-expanded={isOpen} aria-label={`More about ${workload.workload_id}`} onClick={toggle}>{isOpen ? "Less" : "More"}</Button>
        </td>
      </tr>
      {isOpen && <Details group={group} workload={workload} />}
    </>
  );
}

/** Without a reason the last cycle would start it, into free room or by evictions, or has not seen it yet. */
function whereItStands(workload: Workload): string {
  if (workload.position === null) return "Its place in the order is not known yet.";
  const ahead = workload.position === 1 ? "Nothing is" : count(workload.position - 1);
  return `${ahead} ahead of it. No reason is known: the last cycle would start it now, or ran before it was reported.`;
}

/** How many of several kernels start together. */
function togetherInWords({ gang_min, members }: Workload): string {
  if (members.total < 2) return "";
  return gang_min === null ? "All of them start together." : `${gang_min} of them start together.`;
}

function Details({ group, workload }: { group: string; workload: Workload }) {
  const answer = useQuery(MEMBERS, { group, workload: workload.workload_id });
  return (
    <tr>
      <td colSpan={9}>
        <Helps group={group} workload={workload} />
        <WhatIf group={group} workload={workload} />
        <Shown answer={answer}>
          {(data) => (
            <>
              <div class="small muted">
                {togetherInWords(workload)}
                {data.workload?.preemptible === false ? " They may not be evicted." : ""}
              </div>
              <ul class="mono small" aria-label={`Kernels of ${workload.workload_id}`}>
                {(data.workload?.kernel_ids ?? []).map((id) => <li key={id}>{id}</li>)}
              </ul>
            </>
          )}
        </Shown>
      </td>
    </tr>
  );
}
