// The scheduler of a group and every option: what it does, what is set, and what will change.
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { graphql, type ResultOf } from "../../gql.ts";
import { inWords } from "../../lib/inWords.ts";
import { slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { Card, Field, Note, Page, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Said } from "../../ui/Said.tsx";
import { SaveBar } from "../../ui/SaveBar.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { mergePatch } from "./mergePatch.ts";
import { OptionField } from "./OptionField.tsx";
import { OPTIONS, parse, SCHEDULERS, SECTIONS, text, type Option } from "./options.ts";
import { told } from "./told.ts";

const SETTINGS = graphql(`
  query Settings($group: String!) {
    resource_group(name: $group) { scheduler capacity scheduler_opts configured_scheduler_opts warnings { code detail pointer } }
  }
`);
type Group = NonNullable<ResultOf<typeof SETTINGS>["resource_group"]>;
type Values = Record<string, unknown>;

export default function Settings({ group }: PageProps) {
  const answer = useQuery(SETTINGS, { group });
  return (
    <Page
      title="Settings"
      about="How this group orders pending work, and what it counts as used. An empty field uses the default."
      actions={<CopyAs action={{ document: SETTINGS, variables: { group }, rest: { path: ["resource-groups", group, "scheduler-options"] }, command: ["options", "get", group] }} />}
    >
      <Shown answer={answer}>{(data) => (data.resource_group ? <Form key={group} group={group} now={data.resource_group} /> : <Empty title="There is no such group" />)}</Shown>
    </Page>
  );
}

function Form({ group, now }: { group: string; now: Group }) {
  const configured = JSON.parse(now.configured_scheduler_opts) as Values;
  const inForce = JSON.parse(now.scheduler_opts ?? "{}") as Values;
  const [edits, setEdits] = useState<Record<string, string>>({});
  const [scheduler, setScheduler] = useState<string>();
  const readOnly = !isAdmin();
  const offered = Object.keys(slots(now.capacity));
  const changed = OPTIONS.filter((option) => edits[option.key] !== undefined && edits[option.key]?.trim() !== text(option, configured));
  const reset = () => {
    setEdits({});
    setScheduler(undefined);
  };
  return (
    <>
      {now.warnings.map((warning) => (
        <Note key={warning.detail} kind="warn">
          <Said text={inWords(warning.detail, offered)} exact={warning.detail} />
        </Note>
      ))}
      <p class="muted small">
        These are the present settings; those of past days are not kept. {readOnly ? "The audit log, which an admin reads, has every change of them with what was before." : <><Link href={`${groupPath(group, "audit")}?action=scheduler_options.patch`}>Audit</Link> has every change of them with what was before.</>}
      </p>
      {readOnly && <Note>Your key may read these settings. An admin may change them.</Note>}
      <Card title="Scheduler">
        <Field label="Order of pending work">
          {(props) => <Select {...props} disabled={readOnly} options={SCHEDULERS} value={scheduler ?? now.scheduler} onChange={(event) => setScheduler(event.currentTarget.value)} />}
        </Field>
      </Card>
      {SECTIONS.map((section) => (
        <Card key={section.title} title={section.title}>
          <div class="grid">
            {section.options.map((option) => (
              <OptionField
                key={option.key}
                option={option}
                value={edits[option.key] ?? text(option, configured)}
                inForce={inForce[option.key]}
                slots={offered}
                readOnly={readOnly}
                set={(value) => setEdits((old) => ({ ...old, [option.key]: value }))}
              />
            ))}
          </div>
        </Card>
      ))}
      {(changed.length > 0 || (scheduler !== undefined && scheduler !== now.scheduler)) && (
        <Save group={group} now={now} configured={configured} changed={changed} edits={edits} scheduler={scheduler !== now.scheduler ? scheduler : undefined} reset={reset} />
      )}
    </>
  );
}

interface SaveProps {
  group: string;
  now: Group;
  configured: Values;
  changed: Option[];
  edits: Record<string, string>;
  scheduler: string | undefined;
  reset: () => void;
}

/** The change as the server takes it: maps lose what is no longer named. */
function patch(changed: Option[], edits: Record<string, string>, configured: Values): Values {
  const values: Values = {};
  for (const option of changed) {
    const read = parse(option, edits[option.key] ?? "");
    if ("value" in read) values[option.key] = mergePatch(configured[option.key], read.value);
  }
  return values;
}

function Save({ group, now, configured, changed, edits, scheduler, reset }: SaveProps) {
  const faulty = changed.some((option) => "fault" in parse(option, edits[option.key] ?? ""));
  const options = patch(changed, edits, configured);
  const change = { ...(scheduler ? { scheduler } : {}), ...(changed.length > 0 ? { scheduler_opts: options } : {}) };
  return (
    <SaveBar group={group} title="Not saved yet" change={faulty ? null : change} said={`The settings of ${group} are saved.`} clear={reset}>
      {scheduler && (
        <span class="pill">
          scheduler: {now.scheduler} → {scheduler}
        </span>
      )}
      {changed.map((option) => (
        <span key={option.key} class="pill">
          {option.name}: {told(option, text(option, configured))} → {told(option, edits[option.key] ?? "")}
        </span>
      ))}
    </SaveBar>
  );
}
