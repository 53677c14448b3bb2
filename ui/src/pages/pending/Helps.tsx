// The changes that would let a workload start earlier, once someone asks.
import { useState } from "preact/hooks";
import { useQuery } from "../../lib/query.ts";
import { Button } from "../../ui/Basics.tsx";
import { Shown } from "../../ui/States.tsx";
import { helpInWords } from "./forecasts.ts";
import { HELPS, type Workload } from "./query.ts";

export function Helps({ group, workload }: { group: string; workload: Workload }) {
  const [isAsked, setAsked] = useState(false);
  const answer = useQuery(HELPS, isAsked ? { group, workload: workload.workload_id } : null, false);
  if (!isAsked) return <Button small onClick={() => setAsked(true)}>What would help?</Button>;
  return (
    <Shown answer={answer}>
      {(data) => {
        const helps = data.workload?.helps ?? [];
        if (helps.length === 0) return <p role="status">Half of what it asks for, half the time, another queue and the first place were tried. As far as is known, none would let it start earlier.</p>;
        return (
          <ul class="small" aria-label={`What would help ${workload.workload_id}`}>
            {helps.map((help) => <li key={`${help.change} ${help.queue ?? ""}`}>{helpInWords(help)}</li>)}
          </ul>
        );
      }}
    </Shown>
  );
}
