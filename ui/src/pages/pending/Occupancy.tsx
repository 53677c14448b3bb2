// The slots that running kernels hold now, by domain, project, user, queue or node, and those that are free.
import type { VariablesOf } from "../../gql.ts";
import { count, percent, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { describe } from "../../lib/units.ts";
import { Card, Field, Select } from "../../ui/Basics.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { OCCUPANCY, type Holder } from "./query.ts";
import { largestShare } from "./reasons.ts";

type By = VariablesOf<typeof OCCUPANCY>["by"];

const KINDS: [By, string][] = [["DOMAIN", "Domain"], ["PROJECT", "Project"], ["USER", "User"], ["QUEUE", "Queue"], ["AGENT", "Node"]];
/** Rows beyond these hold less than any of them. */
const MAX_ROWS = 100;

const readBy = (text: string | null): By => KINDS.find(([by]) => by.toLowerCase() === text)?.[0] ?? "USER";

export function Occupancy({ group }: { group: string }) {
  const [params, change] = useParams();
  const by = readBy(params.get("by"));
  const answer = useQuery(OCCUPANCY, { group, by });
  return (
    <Card flush title="Held now" aside={
      <Field label="By">
        {(props) => <Select {...props} value={by.toLowerCase()} options={KINDS.map(([value, name]) => [value.toLowerCase(), name])} onChange={(event) => change({ by: event.currentTarget.value === "user" ? null : event.currentTarget.value })} />}
      </Field>
    }>
      <Shown answer={answer}>
        {({ occupancy }) => (
          <>
            <p class="pad small">{`Held: ${describe(slots(occupancy.held))}. Free: ${describe(slots(occupancy.free))}.`}</p>
            {occupancy.items.length === 0 ? <Empty title="Nothing runs and nothing waits">Kernels that a scheduler reports appear here.</Empty> : <Holders by={by} items={occupancy.items} />}
          </>
        )}
      </Shown>
    </Card>
  );
}

function Holders({ by, items }: { by: By; items: Holder[] }) {
  const isAgent = by === "AGENT";
  return (
    <>
      <Scroll>
        <table class="data cards narrow">
          <caption class="visually-hidden">What is held now, the largest share first</caption>
          <thead>
            <tr>
              <th scope="col" class="name wide">{KINDS.find(([kind]) => kind === by)?.[1]}</th>
              <th scope="col" class="number">Largest share</th>
              <th scope="col">Holds</th>
              {isAgent && <th scope="col">Free</th>}
              <th scope="col" class="number">Running</th>
              {!isAgent && <th scope="col" class="number">Waiting</th>}
            </tr>
          </thead>
          <tbody>
            {items.slice(0, MAX_ROWS).map((item) => (
              <tr key={item.name}>
                <th scope="row" class="name wide">
                  {item.name ?? "No node named"}
                  {item.schedulable === false && <div class="muted small">takes no work</div>}
                </th>
                <td class="number" data-value={String(largestShare(item.share))}>{percent(largestShare(item.share))}</td>
                <td class="small all">{describe(slots(item.held))}</td>
                {isAgent && <td class="small all">{item.free ? describe(slots(item.free)) : "–"}</td>}
                <td class="number">{count(item.running)}</td>
                {!isAgent && <td class="number">{count(item.pending)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {items.length > MAX_ROWS && <p class="pad muted small">{`The first ${MAX_ROWS} of ${count(items.length)}.`}</p>}
    </>
  );
}
