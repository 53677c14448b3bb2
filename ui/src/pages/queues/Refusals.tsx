// The reasons of a refused plan, each with the queue, the workload and the slot that it is about.
import { count } from "../../lib/numbers.ts";
import { slotName } from "../../lib/units.ts";
import { Scroll } from "../../ui/Scroll.tsx";
import { ratioShown, ruleInWords, type Refusal } from "./refusals.ts";

const MAX_ROWS = 50;

export function Refusals({ refusals }: { refusals: Refusal[] }) {
  return (
    <>
      <Scroll>
        <table class="data cards">
          <caption class="visually-hidden">Why the plan is refused</caption>
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col" class="name">Workload</th>
              <th scope="col">Why</th>
              <th scope="col">Slot</th>
              <th scope="col" class="number" title="The amount that the asking side would hold, as a percentage of the amount that the rule lets it hold">Side that asks</th>
              <th scope="col" class="number" title="The amount that the giving side holds, as a percentage of the amount that the rule lets it keep">Side that gives</th>
            </tr>
          </thead>
          <tbody>
            {refusals.slice(0, MAX_ROWS).map((refusal) => (
              <tr key={JSON.stringify(refusal)}>
                <th scope="row">{refusal.queue}</th>
                <td class="name">{refusal.workload_id ? <span class="mono small">{refusal.workload_id}</span> : "the planned one"}</td>
                <td class="all" title={refusal.rule}>
                  {ruleInWords(refusal.rule)}
                  {refusal.level && refusal.level !== refusal.queue && <span class="muted"> At the queue {refusal.level}.</span>}
                </td>
                <td title={refusal.slot ?? undefined}>{refusal.slot ? slotName(refusal.slot) : "–"}</td>
                <td class="number" title={refusal.reclaimer_ratio ?? undefined}>{ratioShown(refusal.reclaimer_ratio)}</td>
                <td class="number" title={refusal.victim_ratio ?? undefined}>{ratioShown(refusal.victim_ratio)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {refusals.length > MAX_ROWS && <p class="muted small">The first {count(MAX_ROWS)} of {count(refusals.length)} reasons; the API answers all of them.</p>}
    </>
  );
}
