// One queue to change or to add, with what every queue would deserve then.
import { useState } from "preact/hooks";
import { overtaken } from "../../lib/change.ts";
import { ApiError } from "../../lib/client.ts";
import { num, slots } from "../../lib/numbers.ts";
import { ordered, scale, slotName, unit } from "../../lib/units.ts";
import { Button, Field, Note, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Failure } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { asWritten } from "./division.ts";
import { DivisionPreview, useDivisions } from "./DivisionPreview.tsx";
import type { Configured, Data, Queue } from "./query.ts";
import { removeAction, removeQueue, saveAction, saveQueues } from "./write.ts";

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
function inputOf(draft: Draft, queue: Configured | undefined): Queue {
  const set = Object.entries(draft.quota).filter(([, text]) => text.trim() !== "");
  const quota = Object.fromEntries(set.map(([slot, text]) => [slot, text.trim() === "unlimited" ? "unlimited" : String(num(text) * scale(slot))]));
  return {
    ...(queue ? asWritten(queue) : {}),
    name: draft.name.trim(),
    parent: draft.parent || null,
    priority: Math.round(num(draft.priority)),
    weight: draft.weight.trim() || null,
    quota: JSON.stringify({ ...slots(queue?.quota), ...Object.fromEntries(Object.keys(draft.quota).map((slot) => [slot, undefined])), ...quota }),
    reclaimable: draft.reclaimable,
  };
}

export function EditQueue({ group, data, name, close }: { group: string; data: Data; name: string; close: () => void }) {
  const queue = data.queues.edges.map((edge) => edge.node).find((node) => node.name === name);
  const known = ordered(Object.keys(slots(data.division.capacity)));
  const [draft, setDraft] = useState(() => draftOf(queue, known));
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const set = (change: Partial<Draft>) => setDraft((old) => ({ ...old, ...change }));
  const input = inputOf(draft, queue);
  const [isRemoving, setRemoving] = useState(false);
  const divisions = useDivisions(input.name ? data : undefined, isRemoving ? { removed: queue?.name } : { changes: [input] });
  const terms = { reason: reason.trim() || null, basis: data.resource_group?.config_revision ?? null };
  const act = async (what: () => Promise<() => Promise<void>>, text: string) => {
    setError(undefined);
    try {
      done.value = { text, undo: await what() };
      close();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  const save = (event: Event) => {
    event.preventDefault();
    if (isRemoving) return;
    void act(() => saveQueues(group, [input], queue ? [asWritten(queue)] : [], terms), `The queue ${input.name} is saved.`);
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
        <DivisionPreview {...divisions} />
        <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
        {error && (overtaken(error) ? <Note kind="bad">{overtaken(error)} The preview above is the newest; look at it, and save again.</Note> : <Failure error={error} />)}
        {queue && isRemoving ? (
          <div class="row">
            <Button kind="danger" disabled={!divisions.moved} onClick={() => void act(() => removeQueue(group, asWritten(queue), terms), `The queue ${queue.name} is removed.`)}>
              Remove it
            </Button>
            <Button onClick={() => setRemoving(false)}>Keep it</Button>
            <CopyAs what="the removal of the queue" action={removeAction(group, queue.name, terms)} />
          </div>
        ) : (
          <div class="row">
            <Button kind="primary" type="submit" disabled={input.name === "" || !divisions.moved}>
              Save
            </Button>
            <Button onClick={close}>Cancel</Button>
            <CopyAs what="this write of the queue" action={saveAction(group, [input], terms)} />
            {queue && (
              <Button kind="danger" onClick={() => setRemoving(true)}>
                Remove…
              </Button>
            )}
          </div>
        )}
      </form>
    </Dialog>
  );
}
