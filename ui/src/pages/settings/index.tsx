// The scheduler of a group and every option: what it does, what is set, and what will change.
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { graphql, type ResultOf } from "../../gql.ts";
import type { Fault } from "../../lib/client.ts";
import { inWords } from "../../lib/inWords.ts";
import { basisOf } from "../../lib/meanwhile.ts";
import { facts, labelled, type Option } from "../../lib/metadata.ts";
import { slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { Card, Field, Note, Page, Select } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Said } from "../../ui/Said.tsx";
import { SaveBar } from "../../ui/SaveBar.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { changedOptions, changedScheduler, isEmpty, optionPatch, rebased, type Configured, type Draft, type Values } from "./draft.ts";
import { OptionField } from "./OptionField.tsx";
import { parse, sections, text } from "./options.ts";
import { optionInWords } from "./optionInWords.ts";

const SETTINGS = graphql(`
  query Settings($group: String!) {
    resource_group(name: $group) { config_revision scheduler capacity scheduler_opts configured_scheduler_opts warnings { code detail pointer } }
  }
`);
type Group = NonNullable<ResultOf<typeof SETTINGS>["resource_group"]>;

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

const configuredOf = (now: Group): Configured => ({ revision: now.config_revision, values: JSON.parse(now.configured_scheduler_opts) as Values, scheduler: now.scheduler });

function Form({ group, now }: { group: string; now: Group }) {
  const configured = configuredOf(now);
  const inForce = JSON.parse(now.scheduler_opts ?? "{}") as Values;
  const [draft, setDraft] = useState<Draft | null>(null);
  const [faults, setFaults] = useState<Fault[]>([]);
  const readOnly = !isAdmin();
  const offered = Object.keys(slots(now.capacity));
  // A draft that changes nothing any more is over, and the next one begins at what is there then.
  const edit = (next: (old: Draft) => Draft) =>
    setDraft((old) => {
      const begun = { ...configured, revision: basisOf(group, configured.revision) ?? configured.revision };
      const edited = next(old ?? { begun, edits: {} });
      return isEmpty(edited) ? null : edited;
    });
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
          {(props) => <Select {...props} disabled={readOnly} options={labelled(facts().schedulers)} value={draft?.scheduler ?? now.scheduler} onChange={(event) => {
            const scheduler = event.currentTarget.value;
            edit((old) => ({ ...old, scheduler }));
          }} />}
        </Field>
      </Card>
      {sections().map((section) => (
        <Card key={section.title} title={section.title}>
          <div class="grid">
            {section.options.map((option) => (
              <OptionField
                key={option.key}
                option={option}
                value={draft?.edits[option.key] ?? text(option, configured.values)}
                inForce={inForce[option.key]}
                slots={offered}
                readOnly={readOnly}
                refused={faultOf(option, faults)}
                set={(value) => edit((old) => ({ ...old, edits: { ...old.edits, [option.key]: value } }))}
              />
            ))}
          </div>
        </Card>
      ))}
      {draft && <Save group={group} draft={draft} now={configured} setDraft={setDraft} onFaults={setFaults} />}
    </>
  );
}

/** The fault that the server has found in an option, or in a part of it. */
function faultOf(option: Option, faults: Fault[]): string | undefined {
  const place = `/scheduler_opts/${option.key}`;
  return faults.find(({ pointer }) => pointer === place || pointer.startsWith(`${place}/`))?.detail;
}

interface SaveProps {
  group: string;
  draft: Draft;
  now: Configured;
  setDraft: (draft: Draft | null) => void;
  onFaults: (faults: Fault[]) => void;
}

function Save({ group, draft, now, setDraft, onFaults }: SaveProps) {
  const { begun, edits } = draft;
  const changed = changedOptions(draft);
  const scheduler = changedScheduler(draft);
  const faulty = changed.some((option) => "fault" in parse(option, edits[option.key] ?? ""));
  const options = Object.fromEntries(changed.map((option) => [option.key, optionPatch(option, draft)]));
  const change = { ...(scheduler ? { scheduler } : {}), ...(changed.length > 0 ? { scheduler_opts: options } : {}) };
  const values = [
    ...(scheduler ? [{ name: "Order of pending work", begun: begun.scheduler, now: now.scheduler, draft: scheduler }] : []),
    ...changed.map((option) => ({ name: option.title, begun: optionInWords(option, text(option, begun.values)), now: optionInWords(option, text(option, now.values)), draft: optionInWords(option, edits[option.key] ?? "") })),
  ];
  return (
    <SaveBar
      group={group}
      title="Not saved yet"
      change={faulty ? null : change}
      begun={begun.revision}
      rebase={(revision, isKept) => setDraft(isKept ? rebased(draft, { ...now, revision }) : { ...draft, begun: { ...begun, revision } })}
      onFaults={onFaults}
      values={now.revision === begun.revision ? undefined : values}
      said={`The settings of ${group} are saved.`}
      clear={() => setDraft(null)}
    >
      {values.map((value) => (
        <span key={value.name} class="pill">
          {value.name}: {value.begun} → {value.draft}
        </span>
      ))}
    </SaveBar>
  );
}
