// The bar of a draft: its changes, their effects, the reason, and the two ways out: save or discard.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { apply, applyAction, changed, GROUP_WARNINGS, overtaken, type Change } from "../lib/change.ts";
import { ApiError, type Fault } from "../lib/client.ts";
import { newestRevision, noteOwnSave, useMeanwhile } from "../lib/meanwhile.ts";
import { useQuery } from "../lib/query.ts";
import { summary } from "../lib/summary.ts";
import { Button, Field } from "./Basics.tsx";
import { CopyAs } from "./CopyAs.tsx";
import { Dialog } from "./Dialog.tsx";
import { MeanwhileNote, type DraftValue } from "./MeanwhileNote.tsx";
import { Calculating, Preview, useSimulation } from "./Preview.tsx";
import { useInSight } from "./inSight.ts";
import { Failure } from "./States.tsx";
import { done } from "./Toast.tsx";

interface SaveBarProps {
  group: string;
  title: string;
  /** `null`: something in it is wrong, so that it can be neither tried nor saved. */
  change: Change | null;
  /** The revision at which the draft was begun; `undefined`: the page does not know it yet. */
  begun: string | undefined;
  /** Lets the draft rest on another revision; with `isKept` because a person decided so, who has seen what changed. */
  rebase: (revision: string, isKept: boolean) => void;
  /** The values that the draft changes, beside those that are there now; `undefined`: the page does not have those yet. */
  values: DraftValue[] | undefined;
  /** Hears of it when other clients have changed something, and when that is settled. */
  onMeanwhile?: (is: boolean) => void;
  /** Hears of the faults that the server finds in the change, to show them at their fields. */
  onFaults?: (faults: Fault[]) => void;
  /** The sentence about the change once it is made. */
  said: string;
  clear: () => void;
  children: ComponentChildren;
}

export function SaveBar({ group, title, change, begun, rebase, values, onMeanwhile, onFaults, said, clear, children }: SaveBarProps) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const [whole, setWhole] = useState(false);
  const simulated = useSimulation(group, change);
  const now = useQuery(GROUP_WARNINGS, { group });
  const bar = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  useInSight(bar);
  const seen = newestRevision(simulated.data?.config_revision, refusedAt(error));
  const meanwhile = useMeanwhile(group, begun, seen, (revision) => rebase(revision, false));
  const isOvertaken = meanwhile !== undefined;
  const listener = useRef(onMeanwhile);
  listener.current = onMeanwhile;
  useEffect(() => {
    listener.current?.(isOvertaken);
    if (!isOvertaken) return;
    // Without Live nothing else lets the page show the state that the draft is compared with.
    changed(group);
    content.current?.scrollTo(0, 0);
  }, [isOvertaken, group]);
  const refused = simulated.error;
  const faultListener = useRef(onFaults);
  faultListener.current = onFaults;
  useEffect(() => {
    faultListener.current?.(refused?.faults ?? []);
    return () => faultListener.current?.([]);
  }, [refused]);
  // The refusal is below the preview, where a small screen would not show it.
  useEffect(() => {
    if (error && !refusedAt(error)) content.current?.scrollTo(0, content.current.scrollHeight);
  }, [error]);
  // Only what has a preview of just this can be written, and only over the configuration at which the draft was begun.
  const basis = !isOvertaken && simulated.data?.config_revision === begun ? begun : undefined;
  const why = reason.trim() || null;
  const save = async () => {
    if (!change || basis === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const { made, undo } = await apply(group, change, basis, why);
      if (made.applied) noteOwnSave(group, made.applied.config_revision);
      done.value = { text: `${said} ${made.users.risen + made.users.fallen > 0 ? `${made.users.risen} rose, ${made.users.fallen} fell.` : "No user's rank changed."}`, warnings: made.warnings, ...(undo ? { undo } : {}) };
      clear();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
    setBusy(false);
  };
  const keep = () => {
    setError(undefined);
    if (meanwhile) rebase(meanwhile.revision, true);
  };
  return (
    <section class="bottombar" aria-label="Changes that are not saved" ref={bar}>
      <div class="stack" ref={content}>
        {meanwhile && <MeanwhileNote meanwhile={meanwhile} values={values} keep={keep} drop={clear} />}
        <strong>{title}</strong>
        <div class="row">{children}</div>
        {change && (
          <div class="row">
            <Preview brief knownWarnings={now.data?.resource_group?.warnings.map(({ detail }) => detail)} {...simulated} />
            {simulated.data && (
              <Button small onClick={() => setWhole(true)}>
                See all of it
              </Button>
            )}
          </div>
        )}
        {error && !overtaken(error) && <Failure error={error} />}
      </div>
      <div class="row">
        <div style={{ flex: "1 1 220px" }}>
          <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
        </div>
        {change && basis === undefined && !isOvertaken && !simulated.error && <Calculating />}
        {change && basis !== undefined && <CopyAs what="this change" action={applyAction(group, change, basis, why)} />}
        <Button onClick={clear}>Discard</Button>
        <Button kind="primary" disabled={busy || !change || basis === undefined} onClick={() => void save()}>
          {busy ? "Saving…" : "Save"}
        </Button>
      </div>
      {whole && (
        <Dialog title={simulated.data ? summary(simulated.data) : "What would change"} close={() => setWhole(false)}>
          <Preview {...simulated} />
        </Dialog>
      )}
    </section>
  );
}

/** The revision that refused a save, where that was the reason. */
const refusedAt = (error: ApiError | undefined): string | undefined => (error?.code === "config_changed" ? String(error.extra["config_revision"]) : undefined);
