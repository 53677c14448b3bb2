// One queue to change or to add, with what every queue would deserve then.
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../../lib/client.ts";
import { num, slots } from "../../lib/numbers.ts";
import { revision } from "../../lib/query.ts";
import { amount, ordered, scale, slotName, unit } from "../../lib/units.ts";
import { Button, Field, Select } from "../../ui/Basics.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Failure } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { DELETE_QUEUE, SAVE_QUEUES, SIMULATE, type Configured, type Data } from "./query.ts";

interface Draft {
  name: string;
  parent: string;
  priority: string;
  weight: string;
  quota: Record<string, string>;
  reclaimable: boolean;
}

function draftOf(queue: Configured | undefined, known: string[]): Draft {
  const quota = slots(queue?.quota);
  const shown = (slot: string): string => (quota[slot] === undefined ? "" : quota[slot] === "unlimited" ? "unlimited" : String(num(quota[slot]) / scale(slot)));
  return {
    name: queue?.name ?? "",
    parent: queue?.parent ?? "",
    priority: String(queue?.priority ?? 0),
    weight: queue?.weight ?? "1",
    quota: Object.fromEntries(known.map((slot) => [slot, shown(slot)])),
    reclaimable: queue?.reclaimable ?? true,
  };
}

/** The queue as the server takes it; what the form does not show stays as it is. */
function inputOf(draft: Draft, queue: Configured | undefined) {
  const set = Object.entries(draft.quota).filter(([, text]) => text.trim() !== "");
  const quota = Object.fromEntries(set.map(([slot, text]) => [slot, text.trim() === "unlimited" ? "unlimited" : String(num(text) * scale(slot))]));
  return {
    name: draft.name.trim(),
    parent: draft.parent || null,
    priority: Math.round(num(draft.priority)),
    weight: draft.weight.trim() || null,
    quota: JSON.stringify({ ...slots(queue?.quota), ...Object.fromEntries(Object.keys(draft.quota).map((slot) => [slot, undefined])), ...quota }),
    limit: queue?.limit ?? null,
    over_quota_weight: queue?.over_quota_weight ?? null,
    reclaimable: draft.reclaimable,
  };
}

type Input = ReturnType<typeof inputOf>;

const asInput = (queue: Configured): Input => ({ name: queue.name, parent: queue.parent, priority: queue.priority, weight: queue.weight, quota: queue.quota, limit: queue.limit, over_quota_weight: queue.over_quota_weight, reclaimable: queue.reclaimable });

/** The options that say how capacity is divided; the others are about reclaims. */
const OF_DIVISION = ["rounding", "whole_slots", "history_gain", "history_base", "over_quota_by", "rule", "proportion_variant", "score_weights"];

/** What `simulate_division` takes: the queues with this one changed, and what each asks for and has now. */
function simulation(data: Data, input: Input) {
  const others = data.queues.edges.map((edge) => asInput(edge.node)).filter((queue) => queue.name !== input.name);
  const all = [...others, input];
  const parents = new Set(all.map((queue) => queue.parent));
  const now = new Map(data.division.queues.map((queue) => [queue.name, queue]));
  const queues = all.map((queue) => {
    const demand = parents.has(queue.name) ? undefined : now.get(queue.name);
    return {
      name: queue.name,
      ...(queue.parent ? { parent: queue.parent } : {}),
      priority: queue.priority,
      weight: queue.weight ?? "1",
      quota: slots(queue.quota),
      limit: slots(queue.limit),
      ...(queue.over_quota_weight ? { over_quota_weight: JSON.parse(queue.over_quota_weight) as unknown } : {}),
      ...(demand ? { request: slots(demand.request), allocated: slots(demand.allocated) } : {}),
    };
  });
  const { options = {} } = JSON.parse(data.division.options) as { options?: Record<string, unknown> };
  const dividing = Object.fromEntries(Object.entries(options).filter(([name]) => OF_DIVISION.includes(name)));
  return { algorithm: data.division.algorithm, options: dividing, capacity: slots(data.division.capacity), queues };
}

export function EditQueue({ group, data, name, close }: { group: string; data: Data; name: string; close: () => void }) {
  const queue = data.queues.edges.map((edge) => edge.node).find((node) => node.name === name);
  const known = ordered(Object.keys(slots(data.division.capacity)));
  const [draft, setDraft] = useState(() => draftOf(queue, known));
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const set = (change: Partial<Draft>) => setDraft((old) => ({ ...old, ...change }));
  const input = inputOf(draft, queue);
  const act = async (what: () => Promise<unknown>, text: string, undo: () => Promise<unknown>) => {
    setError(undefined);
    try {
      await what();
      revision.value = `${group} queues ${Date.now()}`;
      done.value = {
        text,
        undo: async () => {
          await undo();
          revision.value = `${group} queues ${Date.now()}`;
        },
      };
      close();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  const write = (queues: Input[], why: string | null) => request(SAVE_QUEUES, { group, queues, reason: why });
  const remove = (which: string, why: string | null) => request(DELETE_QUEUE, { group, name: which, reason: why });
  const why = reason.trim() || null;
  const save = (event: Event) => {
    event.preventDefault();
    const undo = queue ? () => write([asInput(queue)], "undone") : () => remove(input.name, "undone");
    void act(() => write([input], why), `The queue ${input.name} is saved.`, undo);
  };
  const faultOf = (field: string) => error?.faults.find((fault) => fault.pointer.endsWith(`/${field}`))?.detail;
  return (
    <Dialog title={queue ? `Queue ${queue.name}` : "A new queue"} close={close}>
      <form class="stack" onSubmit={save}>
        {!queue && (
          <Field label="Name" hint="Kernels of a project count for the queue that is called after it." fault={faultOf("name")}>
            {(props) => <input {...props} required maxLength={64} value={draft.name} onInput={(event) => set({ name: event.currentTarget.value })} />}
          </Field>
        )}
        <div class="grid">
          <Field label="Below" fault={faultOf("parent")}>
            {(props) => (
              <Select
                {...props}
                options={[["", "no other queue"], ...data.queues.edges.map(({ node }): [string, string] => [node.name, node.name]).filter(([other]) => other !== draft.name)]}
                value={draft.parent}
                onChange={(event) => set({ parent: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field label="Priority" hint="Higher is served first." fault={faultOf("priority")}>
            {(props) => <input {...props} inputMode="numeric" value={draft.priority} onInput={(event) => set({ priority: event.currentTarget.value })} />}
          </Field>
          {known.map((slot) => (
            <Field key={slot} label={`Quota of ${slotName(slot)}, ${unit(slot)}`} hint="Empty: none." fault={faultOf(`quota/${slot}`)}>
              {(props) => <input {...props} inputMode="decimal" value={draft.quota[slot] ?? ""} onInput={(event) => set({ quota: { ...draft.quota, [slot]: event.currentTarget.value } })} />}
            </Field>
          ))}
          <Field label="Weight" hint="For min_share, proportion and drf." fault={faultOf("weight")}>
            {(props) => <input {...props} inputMode="decimal" value={draft.weight} onInput={(event) => set({ weight: event.currentTarget.value })} />}
          </Field>
        </div>
        <label class="check">
          <input type="checkbox" checked={draft.reclaimable} onChange={(event) => set({ reclaimable: event.currentTarget.checked })} />
          What it has beyond its share may be reclaimed
        </label>
        <Preview data={data} input={input} slot={known[0] ?? ""} />
        <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
        {error && <Failure error={error} />}
        <div class="row">
          <Button kind="primary" type="submit" disabled={input.name === ""}>
            Save
          </Button>
          <Button onClick={close}>Cancel</Button>
          {queue && (
            <Button kind="danger" onClick={() => void act(() => remove(queue.name, why), `The queue ${queue.name} is removed.`, () => write([asInput(queue)], "undone"))}>
              Remove
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

interface Simulated {
  queues: { name: string; fair_share: Record<string, string> }[];
}

/** Whose fair share would be another one. */
function Preview({ data, input, slot }: { data: Data; input: Input; slot: string }) {
  const [after, setAfter] = useState<Simulated>();
  const [error, setError] = useState<ApiError>();
  const text = input.name ? JSON.stringify(simulation(data, input)) : "";
  useEffect(() => {
    if (!text) return;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      request(SIMULATE, { input: text }, aborter.signal).then(
        (answer) => {
          setAfter(JSON.parse(answer.simulate_division) as Simulated);
          setError(undefined);
        },
        (cause: unknown) => {
          if (!aborter.signal.aborted && cause instanceof ApiError) setError(cause);
        },
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [text]);
  if (error) return <p class="muted small">There is no preview: {error.message}</p>;
  const before = new Map(data.division.queues.map((queue) => [queue.name, num(slots(queue.fair_share)[slot])]));
  const moved = (after?.queues ?? []).map((queue) => ({ name: queue.name, from: before.get(queue.name) ?? 0, to: num(queue.fair_share[slot]) })).filter(({ from, to }) => Math.abs(from - to) > 1e-9);
  return (
    <section aria-label="What would change" aria-live="polite">
      <h3>What would change</h3>
      {moved.length === 0 ? (
        <p class="muted small">No queue would deserve another amount of {slotName(slot)} now.</p>
      ) : (
        <ul>
          {moved.map(({ name, from, to }) => (
            <li key={name}>
              {name} would deserve {amount(slot, to)} instead of {amount(slot, from)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
