// The scenario, made: all of it, or nothing of what was refused.
import { useEffect, useState } from "preact/hooks";
import { apply, applyAction, overtaken, type Change, type Written } from "../../lib/change.ts";
import { ApiError, type WriteWarning } from "../../lib/client.ts";
import { noteOwnSave, type Meanwhile } from "../../lib/meanwhile.ts";
import { Button, Field, Note } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { MeanwhileNote, type DraftValue } from "../../ui/MeanwhileNote.tsx";
import { Calculating } from "../../ui/Preview.tsx";
import { Failure } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import type { Queue } from "../queues/query.ts";
import { saveAction, saveQueues } from "../queues/write.ts";

/** The values of a scenario stand in its form, each beside the one in force. */
const NO_VALUES: DraftValue[] = [];

interface ApplyProps {
  group: string;
  /** `null`: only queues are changed. */
  change: Change | null;
  queues: Queue[];
  /** The present state of those of them that exist. */
  before: Queue[];
  /** The configuration that the preview of just this was made from; `undefined`: there is no preview yet. */
  basis: string | undefined;
  /** The changes of other clients since the scenario was begun. */
  meanwhile: Meanwhile | undefined;
  /** Lets the scenario rest on the newest state. */
  keep: () => void;
  /** A write was refused, because the configuration has this revision by now. */
  refused: (revision: string) => void;
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

export function Apply({ group, change, queues, before, basis, meanwhile, keep, refused, isCalculating, said, reset }: ApplyProps) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  // A refusal is of the scenario that was sent, and of no other.
  const what = JSON.stringify([change, queues]);
  useEffect(() => setError(undefined), [what]);
  const why = onlyTried(change);
  if (why) return <Note>{why}</Note>;
  const given = reason.trim() || null;
  const act = async () => {
    if (basis === undefined) return;
    setBusy(true);
    setError(undefined);
    const warnings: WriteWarning[] = [];
    const undos: Written["undo"][] = [];
    const undo = async () => {
      const found: WriteWarning[] = [];
      for (const back of undos.toReversed()) found.push(...(await back()));
      return found;
    };
    try {
      let now = basis;
      if (change) {
        const { made, undo } = await apply(group, change, basis, given);
        warnings.push(...made.warnings);
        if (undo) undos.push(undo);
        now = made.applied?.config_revision ?? basis;
        noteOwnSave(group, now);
      }
      // Queues are a write of their own, on the grounds of just what the first one left.
      if (queues.length > 0) {
        const written = await saveQueues(group, queues, before, { reason: given, basis: now });
        warnings.push(...written.warnings);
        undos.push(written.undo);
      }
      done.value = { text: `Applied. ${said.replaceAll("would ", "")}`, warnings, ...(undos.length > 0 ? { undo } : {}) };
      reset();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
      if (cause.code === "config_changed") refused(String(cause.extra["config_revision"]));
      if (undos.length > 0) done.value = { text: "All but the queues is applied.", warnings, undo };
    }
    setBusy(false);
  };
  return (
    <div class="stack">
      {meanwhile && <MeanwhileNote meanwhile={meanwhile} values={NO_VALUES} keep={keep} drop={reset} />}
      {error && !overtaken(error) && <Failure error={error} />}
      <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
      <div class="row">
        <Button kind="primary" disabled={busy || basis === undefined || meanwhile !== undefined} onClick={() => void act()}>
          {busy ? "Applying…" : "Apply exactly this"}
        </Button>
        {isCalculating && !meanwhile && <Calculating />}
        {change && basis !== undefined && !meanwhile && <CopyAs what="this change" action={applyAction(group, change, basis, given)} />}
        {queues.length > 0 && basis !== undefined && !meanwhile && <CopyAs what="the write of the queues" action={saveAction(group, queues, { reason: given, basis: change ? null : basis })} />}
      </div>
    </div>
  );
}
