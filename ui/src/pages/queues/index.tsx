// The fair share of every queue now, its allocation and request, and the reasons; editing the tree; planning a reclaim.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import type { Action } from "../../lib/copy.ts";
import { facts, meaningOf, within } from "../../lib/metadata.ts";
import { num, slots } from "../../lib/numbers.ts";
import { usePastDay } from "../../lib/past.ts";
import { useQuery, type Answer } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { today } from "../../lib/time.ts";
import { inWords, statements } from "../../lib/inWords.ts";
import { amount, ordered, slotName } from "../../lib/units.ts";
import { Button, Card, Note, Page, Tabs } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Said } from "../../ui/Said.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { TimeControl } from "../../ui/TimeControl.tsx";
import { Amounts, AmountsHead, AmountsLegend, wholeOf } from "./Amounts.tsx";
import { EditQueue } from "./EditQueue.tsx";
import { PastDivision } from "./PastDivision.tsx";
import { PlanReclaim } from "./PlanReclaim.tsx";
import { dividedBy, INDENT, inTree } from "./division.ts";
import { PAST_DIVISION, QUEUES, type Data, type Divided } from "./query.ts";

/** The looks of the states of a queue, from good to bad. */
const KINDS = ["good", "warn", "bad"];
const WAITS: [string, string] = ["waits for its fair share", "warn"];

/** True if it asks for a slot of which it has less than its fair share. */
function waits({ request, allocated, fair_share }: Divided): boolean {
  const [asked, has, part] = [request, allocated, fair_share].map(slots);
  return Object.keys(asked ?? {}).some((slot) => num(has?.[slot]) < Math.min(num(asked?.[slot]), num(part?.[slot])));
}

export default function Queues({ group }: PageProps) {
  const [params, change] = useParams();
  const [day, choose] = usePastDay(today());
  const answer = useQuery(QUEUES, day === null ? { group } : null);
  const [editing, setEditing] = useState<string | null>(null);
  const planning = params.get("plan") === "1";
  const names = answer.data?.queues.edges.map((edge) => edge.node.name) ?? [];
  return (
    <Page
      title="Queues"
      about={day === null ? "What each queue deserves of the capacity that is there now, beside what it has and what it asks for." : "What each queue deserved, had and asked for when the capacity was divided last on that day."}
      actions={
        <>
          <CopyAs action={day === null ? nowAction(group) : pastAction(group, day)} />
          {day === null && isAdmin() && <Button onClick={() => setEditing("")}>Add a queue</Button>}
          {day === null && names.length > 0 && <Button onClick={() => change({ plan: "1" }, true)}>Plan a reclaim</Button>}
        </>
      }
    >
      <TimeControl day={day} choose={choose} last={today()} />
      {day === null ? <Live answer={answer} edit={isAdmin() ? setEditing : undefined} /> : <PastDivision group={group} day={day} />}
      {day === null && editing !== null && answer.data && (
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
      {day === null && planning && names.length > 0 && <PlanReclaim group={group} queues={names} capacity={answer.data?.division.capacity ?? "{}"} close={() => change({ plan: null })} />}
    </Page>
  );
}

function nowAction(group: string): Action {
  return { document: QUEUES, variables: { group }, rest: { path: ["resource-groups", group, "division"], query: { explain: true } }, command: ["division", group, "--explain"] };
}

function pastAction(group: string, day: string): Action {
  return {
    document: PAST_DIVISION,
    variables: { group, day },
    rest: { path: ["resource-groups", group, "division", "history"], query: { from: day, to: day } },
    command: ["division", group, "--history", ["--from", day], ["--to", day]],
  };
}

function Live({ answer, edit }: { answer: Answer<Data>; edit: ((name: string) => void) | undefined }) {
  return (
    <Shown answer={answer}>
      {(data) =>
        data.queues.count === 0 ? (
          <Card>
            <Empty title="This group has no queues">Queues divide the capacity that is there now; ranks do not need them. {edit && <>Add one, or several from a file with <code>fairshared weights apply</code>.</>}</Empty>
          </Card>
        ) : (
          <Division data={data} edit={edit} />
        )
      }
    </Shown>
  );
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
  const whole = wholeOf(data.division.queues, slot, num(capacity[slot]));
  return (
    <>
      {data.division.warnings.length > 0 && (
        <Note kind="warn">
          {data.division.warnings.slice(0, 5).map((warning) => (
            <div key={warning.detail}>
              {warning.queue && <strong>{warning.queue}: </strong>}
              <Said text={inWords(warning.detail, known)} exact={warning.detail} />
            </div>
          ))}
        </Note>
      )}
      <Card title={dividedBy(data.division.algorithm)} flush aside={<span class="muted small">{slot && `${amount(slot, capacity[slot] ?? 0)} to divide`}</span>}>
        <div class="pad stack">
          <Tabs label="Slot" tabs={known.map((name) => [name, slotName(name)])} chosen={slot} choose={(next) => change({ slot: next })} />
          <AmountsLegend slot={slot} whole={whole} capacity={num(capacity[slot])} />
        </div>
        <div class="explained">
          <Scroll>
            <table class="data cards">
              <caption class="visually-hidden">Queues and what they deserve of {slotName(slot)}</caption>
              <thead>
                <tr>
                  <th scope="col" class="name">Queue</th>
                  <th scope="col">State</th>
                  <AmountsHead />
                  {edit && <th scope="col">Change</th>}
                </tr>
              </thead>
              <tbody>
                {rows.map(({ queue, depth }) => (
                  <QueueRow key={queue.name} queue={queue} depth={depth} slot={slot} whole={whole} known={known} sentence={sentences.get(queue.name)} edit={edit && (configured.has(queue.name) ? edit : null)} />
                ))}
              </tbody>
            </table>
          </Scroll>
        </div>
      </Card>
    </>
  );
}

function QueueRow({ queue, depth, slot, whole, known, sentence, edit }: { queue: Divided; depth: number; slot: string; whole: number; known: string[]; sentence: string | undefined; edit: ((name: string) => void) | null | undefined }) {
  const states = facts().queue_states;
  const usual = [within(meaningOf(states, queue.state)), KINDS[states.findIndex(({ name }) => name === queue.state)] ?? ""];
  const [state, kind] = queue.state === "in_quota" && waits(queue) ? WAITS : usual;
  return (
    <tr>
      <th scope="row" class="name">
        <div style={{ paddingLeft: `${depth * INDENT}px` }}>
          {queue.name}
          {sentence && <Why sentence={sentence} slot={slot} known={known} depth={depth} />}
        </div>
      </th>
      <td><span class={`pill ${kind}`}>{state}</span></td>
      <Amounts name={queue.name} slot={slot} whole={whole} of={queue} />
      {edit !== undefined && (
        <td class="act">
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

/** The reasons about this slot and about all slots. They are wider than their cell, so they have the row below it. */
function Why({ sentence, slot, known, depth }: { sentence: string; slot: string; known: string[]; depth: number }) {
  const reasons = statements(sentence, known).filter((statement) => statement.slot === slot || statement.slot === undefined);
  return (
    <details class="small">
      <summary>Why?</summary>
      <div class="across">
        <ul class="statements" style={{ maxWidth: `min(110ch, calc(100cqw - ${40 + depth * INDENT}px))` }}>
          {reasons.map(({ text, exact }) => (
            <li key={exact} title={exact}>{text}</li>
          ))}
          {reasons.length === 0 && <li title={sentence}>asks for nothing of this slot, and gets nothing</li>}
        </ul>
      </div>
    </details>
  );
}
