// What every queue deserves now, what it has and asks for, and why; editing the tree; planning a reclaim.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { num, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { amount, ordered, slotName } from "../../lib/units.ts";
import { StackBar } from "../../ui/Bars.tsx";
import { Button, Card, Note, Page, Tabs } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { EditQueue } from "./EditQueue.tsx";
import { PlanReclaim } from "./PlanReclaim.tsx";
import { QUEUES, type Data, type Divided } from "./query.ts";

const STATES: Record<string, [string, string]> = {
  in_quota: ["within its quota", "good"],
  over_quota: ["over its quota", "warn"],
  over_fair_share: ["over its fair share", "bad"],
};

export default function Queues({ group }: PageProps) {
  const [params, change] = useParams();
  const answer = useQuery(QUEUES, { group });
  const [editing, setEditing] = useState<string | null>(null);
  const planning = params.get("plan") === "1";
  const names = answer.data?.queues.edges.map((edge) => edge.node.name) ?? [];
  return (
    <Page
      title="Queues"
      about="What each queue deserves of the capacity that is there now, beside what it has and what it asks for."
      actions={
        <>
          <CopyAs action={{ document: QUEUES, variables: { group }, rest: { path: ["resource-groups", group, "division"], query: { explain: true } }, command: ["division", group, "--explain"] }} />
          {isAdmin() && <Button onClick={() => setEditing("")}>Add a queue</Button>}
          {names.length > 0 && <Button onClick={() => change({ plan: "1" }, true)}>Plan a reclaim</Button>}
        </>
      }
    >
      <Shown answer={answer}>
        {(data) =>
          data.queues.count === 0 ? (
            <Card>
              <Empty title="This group has no queues">Queues divide the capacity that is there now; ranks do not need them. {isAdmin() && "Add one, or several from a file with fairshared weights apply."}</Empty>
            </Card>
          ) : (
            <Division data={data} edit={isAdmin() ? setEditing : undefined} />
          )
        }
      </Shown>
      {editing !== null && answer.data && (
        <EditQueue
          group={group}
          data={answer.data}
          name={editing}
          close={() => {
            setEditing(null);
            answer.reload();
          }}
        />
      )}
      {planning && names.length > 0 && <PlanReclaim group={group} queues={names} capacity={answer.data?.division.capacity ?? "{}"} close={() => change({ plan: null })} />}
    </Page>
  );
}

/** Parents before their children, each with its depth. */
export function inTree<T extends { name: string; parent: string | null }>(queues: T[]): { queue: T; depth: number }[] {
  const below = new Map<string | null, T[]>();
  const known = new Set(queues.map((queue) => queue.name));
  for (const queue of queues) {
    const parent = queue.parent !== null && known.has(queue.parent) ? queue.parent : null;
    below.set(parent, [...(below.get(parent) ?? []), queue]);
  }
  const list = (parent: string | null, depth: number): { queue: T; depth: number }[] =>
    (below.get(parent) ?? []).flatMap((queue) => [{ queue, depth }, ...list(queue.name, depth + 1)]);
  return list(null, 0);
}

function Division({ data, edit }: { data: Data; edit: ((name: string) => void) | undefined }) {
  const [params, change] = useParams();
  const capacity = slots(data.division.capacity);
  const known = ordered(Object.keys(capacity));
  const wished = params.get("slot");
  const slot = wished && known.includes(wished) ? wished : (known[0] ?? "");
  const configured = new Set(data.queues.edges.map((edge) => edge.node.name));
  const sentences = new Map(data.division.trace?.map((trace) => [trace.queue, trace.sentence]));
  const rows = inTree(data.division.queues);
  return (
    <>
      {data.division.warnings.slice(0, 5).map((warning) => (
        <Note key={warning.detail} kind="warn">
          {warning.queue && <strong>{warning.queue}: </strong>}
          {warning.detail}
        </Note>
      ))}
      <Card title={`Divided by ${data.division.algorithm}`} flush aside={<span class="muted small">{slot && `${amount(slot, capacity[slot] ?? 0)} to divide`}</span>}>
        <div class="pad stack">
          <Tabs label="Slot" tabs={known.map((name) => [name, slotName(name)])} chosen={slot} choose={(next) => change({ slot: next })} />
          <div class="legend">
            <span><i /> allocated</span>
            <span><i class="soft" /> asked for</span>
            <span><i class="mark" /> fair share</span>
          </div>
        </div>
        <Scroll>
          <table class="data">
            <caption class="visually-hidden">Queues and what they deserve of {slotName(slot)}</caption>
            <thead>
              <tr>
                <th scope="col" class="name">Queue</th>
                <th scope="col">State</th>
                <th scope="col" class="wide-only" style={{ minWidth: "180px" }}>Has, asks for, deserves</th>
                <th scope="col" class="number">Quota</th>
                <th scope="col" class="number">Fair share</th>
                <th scope="col" class="number">Allocated</th>
                <th scope="col" class="number">Asked for</th>
                {edit && <th scope="col">Change</th>}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ queue, depth }) => (
                <QueueRow key={queue.name} queue={queue} depth={depth} slot={slot} whole={num(capacity[slot])} sentence={sentences.get(queue.name)} edit={edit && (configured.has(queue.name) ? edit : null)} />
              ))}
            </tbody>
          </table>
        </Scroll>
      </Card>
    </>
  );
}

function QueueRow({ queue, depth, slot, whole, sentence, edit }: { queue: Divided; depth: number; slot: string; whole: number; sentence: string | undefined; edit: ((name: string) => void) | null | undefined }) {
  const exact = (json: string): string => slots(json)[slot] ?? "0";
  const of = (json: string): number => num(exact(json));
  const part = (json: string): number => (whole > 0 ? of(json) / whole : 0);
  const [state, kind] = STATES[queue.state] ?? [queue.state.replaceAll("_", " "), ""];
  const shown = (json: string): string => amount(slot, of(json)).split(" ")[0] ?? "";
  return (
    <tr>
      <th scope="row" class="name">
        <div style={{ paddingLeft: `${depth * 18}px` }}>
          {queue.name}
          {sentence && (
            <details class="small">
              <summary>Why?</summary>
              {sentence}
            </details>
          )}
        </div>
      </th>
      <td><span class={`pill ${kind}`}>{state}</span></td>
      <td class="wide-only">
        <StackBar
          label={`${queue.name}: ${shown(queue.allocated)} allocated, ${shown(queue.request)} asked for, ${shown(queue.fair_share)} deserved`}
          parts={[{ part: part(queue.request), kind: "soft" }, { part: part(queue.allocated), kind: "" }]}
          mark={part(queue.fair_share)}
        />
      </td>
      <td class="number" title={exact(queue.quota)}>{shown(queue.quota)}</td>
      <td class="number" title={exact(queue.fair_share)}><strong>{shown(queue.fair_share)}</strong></td>
      <td class="number" title={exact(queue.allocated)}>{shown(queue.allocated)}</td>
      <td class="number" title={exact(queue.request)}>{shown(queue.request)}</td>
      {edit !== undefined && (
        <td>
          {edit && (
            <Button small onClick={() => edit(queue.name)} aria-label={`Edit queue ${queue.name}`}>
              Edit
            </Button>
          )}
        </td>
      )}
    </tr>
  );
}
