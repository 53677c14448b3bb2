// The shares that queues would deserve, before they are changed.
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../../lib/client.ts";
import type { Slots } from "../../lib/numbers.ts";
import { amount, slotName } from "../../lib/units.ts";
import { Scroll } from "../../ui/Scroll.tsx";
import { Failure, Loading } from "../../ui/States.tsx";
import { movedQueues, simulation, withChanges, type Deserved, type Moved } from "./division.ts";
import { COMPARE, type Data, type Queue } from "./query.ts";

export interface Divisions {
  /** `undefined`: not known yet. */
  moved?: Moved[];
  error?: ApiError;
}

interface Scenario {
  changes?: Queue[];
  capacity?: Slots;
  removed?: string | undefined;
}

/** Both divisions, asked for once the form has not changed for a moment. */
export function useDivisions(data: Data | undefined, { changes = [], capacity = {}, removed }: Scenario): Divisions {
  const variables = data ? { before: JSON.stringify(simulation(data, withChanges(data, []))), after: JSON.stringify(simulation(data, withChanges(data, changes, removed), capacity)) } : null;
  const key = JSON.stringify(variables);
  const [state, setState] = useState<Divisions & { key: string }>({ key: "" });
  useEffect(() => {
    const asked = JSON.parse(key) as { before: string; after: string } | null;
    if (!asked) return;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      request(COMPARE, asked, aborter.signal).then(
        ({ before, after }) => setState({ key, moved: movedQueues(JSON.parse(before) as Deserved, JSON.parse(after) as Deserved) }),
        (cause: unknown) => {
          if (!aborter.signal.aborted && cause instanceof ApiError) setState({ key, error: cause });
        },
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [key]);
  return state.key === key ? state : {};
}

export function DivisionPreview({ moved, error }: Divisions) {
  return (
    <section class="stack tight" aria-label="What queues would deserve" aria-live="polite">
      <h3>What queues would deserve</h3>
      {error ? (
        <Failure error={error} />
      ) : !moved ? (
        <Loading />
      ) : moved.length === 0 ? (
        <p class="muted small">No queue would deserve another amount now.</p>
      ) : (
        <Scroll>
          <table class="data">
            <caption class="visually-hidden">What queues would deserve</caption>
            <thead>
              <tr>
                <th scope="col" class="name">Queue</th>
                <th scope="col">Slot</th>
                <th scope="col" class="number">Now</th>
                <th scope="col" class="number">Then</th>
              </tr>
            </thead>
            <tbody>
              {moved.map(({ queue, slot, from, to }) => (
                <tr key={`${queue} ${slot}`}>
                  <th scope="row" class="name">{queue}</th>
                  <td>{slotName(slot)}</td>
                  <td class="number" title={from}>{amount(slot, from)}</td>
                  <td class="number" title={to}>{amount(slot, to)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}
