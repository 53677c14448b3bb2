// One queue to change or to add, with what every queue would deserve then.
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { changed, overtaken, type Written } from "../../lib/change.ts";
import { ApiError } from "../../lib/client.ts";
import { newestRevision, useMeanwhile } from "../../lib/meanwhile.ts";
import { slots } from "../../lib/numbers.ts";
import { ordered, slotLabel, slotName } from "../../lib/units.ts";
import { Button, Field, focusFault, Note, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { MeanwhileNote } from "../../ui/MeanwhileNote.tsx";
import { Failure } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { asWritten } from "./division.ts";
import { DivisionPreview, useDivisions } from "./DivisionPreview.tsx";
import { changedFields, draftFaults, draftOf, inputOf, rebased, type Draft } from "./draft.ts";
import type { Configured, Data } from "./query.ts";
import { removeAction, removeQueue, saveAction, saveQueues } from "./write.ts";

const queueOf = (data: Data, name: string): Configured | undefined => data.queues.edges.map((edge) => edge.node).find((node) => node.name === name);

export function EditQueue({ group, data, name, close }: { group: string; data: Data; name: string; close: () => void }) {
  const known = ordered(Object.keys(slots(data.division.capacity)));
  // The form goes out from the queue as it was when it was opened, whatever live refreshes bring meanwhile.
  const [begun, setBegun] = useState(() => ({ queue: queueOf(data, name), revision: data.resource_group?.config_revision }));
  const { queue } = begun;
  const [draft, setDraft] = useState(() => draftOf(queue, known));
  const there = queueOf(data, queue?.name ?? draft.name.trim());
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const set = (change: Partial<Draft>) => setDraft((old) => ({ ...old, ...change }));
  const input = inputOf(draft, queue);
  const [isRemoving, setRemoving] = useState(false);
  const faults = draftFaults(draft);
  const isFaulty = !isRemoving && Object.keys(faults).length > 0;
  const children = data.queues.edges.filter(({ node }) => node.parent === queue?.name).map(({ node }) => node.name);
  const isKept = isRemoving && children.length > 0;
  const divisions = useDivisions(input.name && !isFaulty && !isKept ? data : undefined, isRemoving ? { removed: queue?.name } : { changes: [input] });
  const terms = { reason: reason.trim() || null, basis: begun.revision ?? null };
  const refusedAt = error?.code === "config_changed" ? String(error.extra["config_revision"]) : undefined;
  const shown = data.resource_group?.config_revision;
  const meanwhile = useMeanwhile(group, begun.revision, newestRevision(shown, refusedAt), (revision) => setBegun((old) => ({ ...old, revision })));
  const isOvertaken = meanwhile !== undefined;
  // Without Live nothing else lets the page show the state that the draft is compared with.
  useEffect(() => {
    if (isOvertaken) changed(group);
  }, [isOvertaken, group]);
  const keep = () => {
    setError(undefined);
    if (there) setDraft((old) => rebased(old, draftOf(queue, known), draftOf(there, known)));
    setBegun({ queue: there, revision: shown });
  };
  const values = shown === begun.revision ? undefined : changedFields(draft, queue ? draftOf(queue, known) : null, there ? draftOf(there, known) : null, known);
  const act = async (what: () => Promise<Written>, text: string) => {
    setError(undefined);
    try {
      done.value = { text, ...(await what()) };
      close();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  const save = (event: Event) => {
    event.preventDefault();
    if (isRemoving) return;
    if (isOvertaken) return;
    if (isFaulty) return focusFault(event.currentTarget as HTMLElement);
    void act(() => saveQueues(group, [input], queue ? [asWritten(queue)] : [], terms), `The queue ${input.name} is saved.`);
  };
  const faultOf = (field: string) => faults[field] ?? (error ?? divisions.error)?.faults.find((fault) => fault.pointer.endsWith(`/${field}`))?.detail;
  return (
    <Dialog title={queue ? `Queue ${queue.name}` : "A new queue"} close={close}>
      <form class="stack" onSubmit={save}>
        {meanwhile && (
          <div class="above">
            <MeanwhileNote meanwhile={meanwhile} values={values} keep={keep} drop={close} />
          </div>
        )}
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
          <Field label="Priority" hint="Higher is served first. Empty: 0." fault={faultOf("priority")}>
            {(props) => <input {...props} inputMode="numeric" value={draft.priority} onInput={(event) => set({ priority: event.currentTarget.value })} />}
          </Field>
          {known.map((slot) => (
            <Fragment key={slot}>
              <Field label={`Quota of ${slotLabel(slot)}`} hint="The guaranteed amount. Empty: nothing." fault={faultOf(`quota/${slot}`)}>
                {(props) => <input {...props} inputMode="decimal" value={draft.quota[slot] ?? ""} onInput={(event) => set({ quota: { ...draft.quota, [slot]: event.currentTarget.value } })} />}
              </Field>
              <Field label={`Limit of ${slotLabel(slot)}`} hint="The largest amount. Empty: no limit." fault={faultOf(`limit/${slot}`)}>
                {(props) => <input {...props} inputMode="decimal" value={draft.limit[slot] ?? ""} onInput={(event) => set({ limit: { ...draft.limit, [slot]: event.currentTarget.value } })} />}
              </Field>
            </Fragment>
          ))}
          <Field label="Over-quota weight, of every slot" hint="In which proportion it shares what is left when every queue has its quota; a plain number. Empty: 1. 0: its quota only. Other ways to divide do not read it." fault={faultOf("over_quota_weight")}>
            {(props) => <input {...props} inputMode="decimal" value={draft.overQuota} onInput={(event) => set({ overQuota: event.currentTarget.value })} />}
          </Field>
          <Field label="Weight" hint="For min_share, proportion and drf." fault={faultOf("weight")}>
            {(props) => <input {...props} inputMode="decimal" value={draft.weight} onInput={(event) => set({ weight: event.currentTarget.value })} />}
          </Field>
        </div>
        <details open={Object.values(draft.overQuotaOf).some((text) => text !== "")}>
          <summary>Another over-quota weight for single slots</summary>
          <div class="grid">
            {known.map((slot) => (
              <Field key={slot} label={`Over-quota weight of ${slotName(slot)}`} hint="Empty: that of every slot." fault={faultOf(`over_quota_weight/${slot}`)}>
                {(props) => <input {...props} inputMode="decimal" value={draft.overQuotaOf[slot] ?? ""} onInput={(event) => set({ overQuotaOf: { ...draft.overQuotaOf, [slot]: event.currentTarget.value } })} />}
              </Field>
            ))}
          </div>
        </details>
        <label class="check">
          <input type="checkbox" checked={draft.reclaimable} onChange={(event) => set({ reclaimable: event.currentTarget.checked })} />
          What it has beyond its share may be reclaimed
        </label>
        {isFaulty && <p class="bad small">The preview appears once every field can be read.</p>}
        {isKept && <Note kind="warn">Below this queue there {children.length === 1 ? "is" : "are"} {children.join(", ")}. Remove what is below it first, or put it below another queue.</Note>}
        {!isFaulty && !isKept && <DivisionPreview {...divisions} />}
        <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
        {error && !overtaken(error) && <Failure error={error} />}
        {queue && isRemoving ? (
          <div class="row">
            <Button kind="danger" disabled={!divisions.moved || isOvertaken} onClick={() => void act(() => removeQueue(group, asWritten(queue), terms), `The queue ${queue.name} is removed.`)}>
              Remove it
            </Button>
            <Button onClick={() => setRemoving(false)}>Keep it</Button>
            {!isKept && <CopyAs what="the removal of the queue" action={removeAction(group, queue.name, terms)} />}
          </div>
        ) : (
          <div class="row">
            <Button kind="primary" type="submit" disabled={input.name === "" || isOvertaken || (!isFaulty && !divisions.moved)}>
              Save
            </Button>
            <Button onClick={close}>Cancel</Button>
            {!isFaulty && <CopyAs what="this write of the queue" action={saveAction(group, [input], terms)} />}
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
