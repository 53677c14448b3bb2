// The scenario, made: all of it, or nothing of what was refused.
import { useState } from "preact/hooks";
import { apply, applyAction, overtaken, type Change } from "../../lib/change.ts";
import { ApiError } from "../../lib/client.ts";
import { Button, Field, Note } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Calculating } from "../../ui/Preview.tsx";
import { Failure } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import type { Queue } from "../queues/query.ts";
import { saveAction, saveQueues } from "../queues/write.ts";

interface ApplyProps {
  group: string;
  /** `null`: only queues are changed. */
  change: Change | null;
  queues: Queue[];
  /** Those of them that are there, as they are. */
  before: Queue[];
  /** The configuration that the preview of just this was made from; `undefined`: there is no preview yet. */
  basis: string | undefined;
  isCalculating: boolean;
  said: string;
  reset: () => void;
}

/** Why a scenario can only be looked at. */
function onlyTried(change: Change | null): string | undefined {
  if (change?.capacity) return "Capacity is what nodes offer: this scenario can be looked at, and not applied. Without the capacity it can.";
  if (change?.add_users || change?.remove_users) return "Users come with their first kernel: this scenario can be looked at, and not applied. Without people who come or go it can.";
  return undefined;
}

export function Apply({ group, change, queues, before, basis, isCalculating, said, reset }: ApplyProps) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const why = onlyTried(change);
  if (why) return <Note>{why}</Note>;
  const told = reason.trim() || null;
  const act = async () => {
    if (basis === undefined) return;
    setBusy(true);
    setError(undefined);
    const undos: (() => Promise<void>)[] = [];
    const undo = async () => {
      for (const back of undos.toReversed()) await back();
    };
    try {
      let now = basis;
      if (change) {
        const { made, undo } = await apply(group, change, basis, told);
        if (undo) undos.push(undo);
        now = made.applied?.config_revision ?? basis;
      }
      // Queues are a write of their own, on the grounds of just what the first one left.
      if (queues.length > 0) undos.push(await saveQueues(group, queues, before, { reason: told, basis: now }));
      done.value = { text: `Applied. ${said.replaceAll("would ", "")}`, ...(undos.length > 0 ? { undo } : {}) };
      reset();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
      if (undos.length > 0) done.value = { text: "All but the queues is applied.", undo };
    }
    setBusy(false);
  };
  return (
    <div class="stack">
      {error && (overtaken(error) ? <Note kind="bad">{overtaken(error)} The preview is the newest; look at it, and apply again.</Note> : <Failure error={error} />)}
      <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
      <div class="row">
        <Button kind="primary" disabled={busy || basis === undefined} onClick={() => void act()}>
          {busy ? "Applying…" : "Apply exactly this"}
        </Button>
        {isCalculating && <Calculating />}
        {change && basis !== undefined && <CopyAs what="this change" action={applyAction(group, change, basis, told)} />}
        {queues.length > 0 && basis !== undefined && <CopyAs what="the write of the queues" action={saveAction(group, queues, { reason: told, basis: change ? null : basis })} />}
      </div>
    </div>
  );
}
