// Who would have to give back so that a workload could run now. Nothing is done.
import { useState } from "preact/hooks";
import { ApiError, request } from "../../lib/client.ts";
import { num, slots } from "../../lib/numbers.ts";
import { inWords } from "../../lib/inWords.ts";
import { describe, ordered, scale, slotLabel } from "../../lib/units.ts";
import { Button, Card, Field, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Said } from "../../ui/Said.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Failure } from "../../ui/States.tsx";
import { PLAN } from "./query.ts";

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
  refusals?: { detail?: string; reason?: string; code?: string }[];
  victims?: Victim[];
  warnings?: { slot?: string | null; detail: string }[];
}

const VERDICTS: Record<string, string> = {
  fits: "It fits: no workload has to give anything back.",
  reclaim: "It can run once these workloads have given back what they hold.",
  refused: "It cannot run now, no matter which workloads give back.",
};

export function PlanReclaim({ group, queues, capacity, close }: { group: string; queues: string[]; capacity: string; close: () => void }) {
  const known = ordered(Object.keys(slots(capacity)));
  const [queue, setQueue] = useState(queues[0] ?? "");
  const [need, setNeed] = useState<Record<string, string>>({});
  const [plan, setPlan] = useState<Plan>();
  const [error, setError] = useState<ApiError>();
  // A plan of another workload is none of the one that is in the fields.
  const forget = () => {
    setPlan(undefined);
    setError(undefined);
  };
  const asked = Object.fromEntries(known.filter((slot) => num(need[slot]) > 0).map((slot) => [slot, String(num(need[slot]) * scale(slot))]));
  const workload = { workload_id: "planned", queue, members: [{ slots: asked }] };
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
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
            <Field key={slot} label={slotLabel(slot)}>
              {(props) => <input {...props} inputMode="decimal" value={need[slot] ?? ""} onInput={(event) => setNeed((old) => ({ ...old, [slot]: event.currentTarget.value }))} />}
            </Field>
          ))}
        </div>
        <div class="row">
          <Button kind="primary" type="submit">
            Which kernels would be reclaimed?
          </Button>
          <CopyAs
            what="this plan"
            action={{ document: PLAN, variables: { group, workload: JSON.stringify(workload) }, rest: { method: "POST", path: ["resource-groups", group, "reclaim-plans"], body: workload }, command: ["plan", group, "-"], input: workload }}
          />
        </div>
      </form>
      {error && <Failure error={error} />}
      {plan && <Outcome plan={plan} known={known} />}
    </Card>
  );
}

function Outcome({ plan, known }: { plan: Plan; known: string[] }) {
  const victims = plan.victims ?? [];
  return (
    <section class="stack" aria-label="The plan" aria-live="polite">
      <p>
        <strong>{VERDICTS[plan.verdict] ?? `Verdict: ${plan.verdict.replaceAll("_", " ")}.`}</strong> {plan.reason ?? plan.detail}
      </p>
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
