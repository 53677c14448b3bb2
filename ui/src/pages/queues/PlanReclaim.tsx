// The workloads that would have to give back so that another could run now. Nothing is done.
import { useState } from "preact/hooks";
import { ApiError, request } from "../../lib/client.ts";
import { facts, meaningOf } from "../../lib/metadata.ts";
import { num, slots } from "../../lib/numbers.ts";
import { amountFault, countedAmount } from "../../lib/quantity.ts";
import { inWords } from "../../lib/inWords.ts";
import { describe, ordered, slotLabel } from "../../lib/units.ts";
import { Button, Card, Field, focusFault, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Said } from "../../ui/Said.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Failure } from "../../ui/States.tsx";
import { PLAN } from "./query.ts";
import type { Refusal } from "./refusals.ts";
import { Refusals } from "./Refusals.tsx";

interface Victim {
  workload_id: string;
  queue: string;
  rule: string;
  level?: string;
  kernel_ids: string[];
  slots?: Record<string, string>;
}

interface Plan {
  verdict: string;
  reason?: string;
  detail?: string;
  refusals?: Refusal[];
  victims?: Victim[];
  warnings?: { slot?: string | null; detail: string }[];
}

export function PlanReclaim({ group, queues, capacity, close }: { group: string; queues: string[]; capacity: string; close: () => void }) {
  const known = ordered(Object.keys(slots(capacity)));
  const [queue, setQueue] = useState(queues[0] ?? "");
  const [need, setNeed] = useState<Record<string, string>>({});
  const [plan, setPlan] = useState<Plan>();
  const [error, setError] = useState<ApiError>();
  const [isAsked, setAsked] = useState(false);
  // A plan of another workload is none of the one that is in the fields.
  const forget = () => {
    setPlan(undefined);
    setError(undefined);
  };
  const texts = known.map((slot): [string, string] => [slot, need[slot]?.trim() ?? ""]);
  const asked = Object.fromEntries(texts.filter(([, text]) => text !== "").map(([slot, text]) => [slot, countedAmount(slot, text)]));
  const isNothing = Object.values(asked).every((amount) => num(amount) === 0 && !amountFault(amount));
  // The first slot stands for all of them where nothing is asked for.
  const faultOf = (slot: string): string | undefined => {
    const atServer = error?.faults.find((fault) => fault.pointer.endsWith(`/slots/${slot}`))?.detail;
    const nothing = isAsked && isNothing && slot === known[0] ? "Give more than 0 of at least one slot: a workload without any always fits." : undefined;
    return amountFault(need[slot] ?? "") ?? nothing ?? atServer;
  };
  const isFaulty = isNothing || texts.some(([, text]) => amountFault(text));
  const workload = { workload_id: "planned", queue, members: [{ slots: asked }] };
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    setAsked(true);
    const form = event.currentTarget as HTMLElement;
    // The fault of an empty form is drawn with the next frame only.
    if (isFaulty) return requestAnimationFrame(() => focusFault(form));
    try {
      const answer = await request(PLAN, { group, workload: JSON.stringify(workload) });
      setPlan(JSON.parse(answer.plan_reclaim) as Plan);
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  return (
    <Card
      title="Plan a reclaim"
      aside={
        <Button small kind="plain" onClick={close}>
          Close
        </Button>
      }
    >
      <p class="muted">A workload that is not there yet: who would have to make room for it? Nothing is stored, and no workload is evicted.</p>
      <form class="stack" onInput={forget} onSubmit={(event) => void submit(event)}>
        <div class="grid">
          <Field label="Queue">{(props) => <Select {...props} options={queues.map((name) => [name, name])} value={queue} onChange={(event) => setQueue(event.currentTarget.value)} />}</Field>
          {known.map((slot) => (
            <Field key={slot} label={slotLabel(slot)} fault={faultOf(slot)}>
              {(props) => <input {...props} inputMode="decimal" value={need[slot] ?? ""} onInput={(event) => setNeed((old) => ({ ...old, [slot]: event.currentTarget.value }))} />}
            </Field>
          ))}
        </div>
        <div class="row">
          <Button kind="primary" type="submit">
            Which kernels would be reclaimed?
          </Button>
          {!isFaulty && <CopyAs
            what="this plan"
            action={{ document: PLAN, variables: { group, workload: JSON.stringify(workload) }, rest: { method: "POST", path: ["resource-groups", group, "reclaim-plans"], body: workload }, command: ["plan", group, "-"], input: workload }}
          />}
        </div>
      </form>
      {error && !known.some((slot) => faultOf(slot)) && <Failure error={error} />}
      {plan && <Outcome plan={plan} known={known} />}
    </Card>
  );
}

function Outcome({ plan, known }: { plan: Plan; known: string[] }) {
  const victims = plan.victims ?? [];
  const refusals = plan.refusals ?? [];
  return (
    <section class="stack" aria-label="The plan" aria-live="polite">
      <p>
        <strong><Said text={meaningOf(facts().reclaim_verdicts, plan.verdict)} /></strong> {plan.reason ?? plan.detail}
      </p>
      {refusals.length > 0 && <Refusals refusals={refusals} />}
      {plan.warnings?.map((warning) => (
        <p key={warning.detail} class="muted small">
          <Said text={inWords(warning.detail, known)} exact={warning.detail} />
        </p>
      ))}
      {victims.length === 0 ? (
        plan.verdict === "reclaim" && <Empty title="No workload" />
      ) : (
        <Scroll>
          <table class="data cards">
            <caption class="visually-hidden">Workloads that would give back</caption>
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col" class="name">Workload</th>
                <th scope="col">Why</th>
                <th scope="col" class="number">Kernels</th>
              </tr>
            </thead>
            <tbody>
              {victims.map((victim) => (
                <tr key={victim.workload_id}>
                  <th scope="row">{victim.queue}</th>
                  <td class="name mono small">{victim.workload_id}</td>
                  <td>
                    {victim.rule.replaceAll("_", " ")}
                    {victim.level && <span class="muted"> of {victim.level}</span>}
                    {victim.slots && <div class="muted small">{describe(victim.slots)}</div>}
                  </td>
                  <td class="number">{victim.kernel_ids.length}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}
