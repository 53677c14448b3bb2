// The form that imagines a workload different, and says if it would start now.
import { useState } from "preact/hooks";
import { useQuery } from "../../lib/query.ts";
import { Button, Field, Select } from "../../ui/Basics.tsx";
import { Shown } from "../../ui/States.tsx";
import { WHAT_IF, type Workload } from "./query.ts";
import { changeOf, outcomeInWords, type ChangeFields } from "./whatIf.ts";

const NOTHING: ChangeFields = { alone: "", slots_part: "", hours: "", priority: "" };

export function WhatIf({ group, workload }: { group: string; workload: Workload }) {
  const [fields, setFields] = useState(NOTHING);
  const set = (key: keyof ChangeFields) => (event: { currentTarget: { value: string } }) => setFields({ ...fields, [key]: event.currentTarget.value });
  const [asked, setAsked] = useState<string | null>(null);
  const change = changeOf(fields);
  // Each answer is a whole cycle, so it is made once, when someone asks.
  const answer = useQuery(WHAT_IF, asked === null ? null : { group, workload: workload.workload_id, change: asked }, false);
  const isAsked = "value" in change && change.value === asked;
  return (
    <fieldset class="stack">
      <legend class="small">What if it were different?</legend>
      <div class="grid">
        <Field label="Others">
          {(props) => <Select {...props} value={fields.alone} options={[["", "wait as they do"], ["true", "did not wait"]]} onChange={set("alone")} />}
        </Field>
        <Field label="It asks for">
          {(props) => <Select {...props} value={fields.slots_part} options={[["", "what it asks for"], ["0.5", "half of it"], ["0.25", "a quarter of it"]]} onChange={set("slots_part")} />}
        </Field>
        <Field label="It runs at most, hours">{(props) => <input {...props} inputMode="decimal" value={fields.hours} onInput={set("hours")} />}</Field>
        <Field label="Priority">{(props) => <input {...props} inputMode="numeric" placeholder={String(workload.priority)} value={fields.priority} onInput={set("priority")} />}</Field>
      </div>
      <Button small disabled={!("value" in change) || change.value === "{}" || isAsked} onClick={() => "value" in change && setAsked(change.value)}>Try it</Button>
      {"fault" in change && <p role="alert">{change.fault}</p>}
      {isAsked && <Shown answer={answer}>{(data) => <p role="status">{outcomeInWords(data.workload_what_if)}</p>}</Shown>}
    </fieldset>
  );
}
