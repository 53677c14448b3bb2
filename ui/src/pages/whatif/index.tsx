// A change that nobody has made yet: who would rise, who would fall; as a link, and applied.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { graphql } from "../../gql.ts";
import { apply, overtaken, type Change } from "../../lib/change.ts";
import { ApiError } from "../../lib/client.ts";
import { slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { ordered, slotName, unit } from "../../lib/units.ts";
import { Button, Card, Field, Note, Page, Select } from "../../ui/Basics.tsx";
import { Preview, summary, useSimulation } from "../../ui/Preview.tsx";
import { Empty, Failure } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { OPTIONS, parse, SCHEDULERS } from "../settings/options.ts";
import { changeOf, decode, EMPTY, encode, type Scenario } from "./scenario.ts";

const NOW = graphql(`
  query WhatIfNow($group: String!) {
    resource_group(name: $group) { capacity }
    domain_fair_shares(resource_group: $group, first: 200) { edges { node { domain_name weight } } }
    project_fair_shares(resource_group: $group, first: 500) { edges { node { project_name domain_name weight } } }
    kernels(resource_group: $group, status: PENDING, first: 1000) {
      edges { node { kernel_id user_uuid project_id occupied_slots } }
    }
  }
`);

const read = (key: string, text: string): unknown => {
  const option = OPTIONS.find((option) => option.key === key);
  const value = option && parse(option, text);
  return value && "value" in value ? value.value : text;
};

export default function WhatIf({ group }: PageProps) {
  const [params, change] = useParams();
  const scenario = decode(params.get("s"));
  const set = (next: Partial<Scenario>) => change({ s: encode({ ...scenario, ...next }) });
  const now = useQuery(NOW, { group }, false);
  const wanted = changeOf(scenario, read);
  const workloads = (now.data?.kernels.edges ?? []).map(({ node }) => ({ workload_id: node.kernel_id, user_uuid: node.user_uuid, project_id: node.project_id, requested_slots: slots(node.occupied_slots) }));
  const asked: Change | null = wanted && now.data ? { ...wanted, ...(workloads.length > 0 ? { workloads } : {}) } : null;
  const { data, error } = useSimulation(group, asked);
  return (
    <Page
      title="What if"
      about="Try weights, options, capacity or another home for a project on the group as it is now. Nothing changes until you apply it."
      actions={
        <>
          <CopyLink />
          <Button onClick={() => change({ s: null })}>Start again</Button>
        </>
      }
    >
      <datalist id="domains">
        {now.data?.domain_fair_shares.edges.map(({ node }) => <option key={node.domain_name}>{node.domain_name}</option>)}
      </datalist>
      <datalist id="projects">
        {now.data?.project_fair_shares.edges.map(({ node }) => <option key={node.project_name}>{node.project_name}</option>)}
      </datalist>
      <div class="grid">
        <div class="stack">
          <Weights scenario={scenario} set={set} />
          <Options scenario={scenario} set={set} />
          <Capacity scenario={scenario} set={set} now={now.data?.resource_group?.capacity ?? "{}"} />
          <Projects scenario={scenario} set={set} />
        </div>
        <Card title="What would change">
          {!asked ? (
            <Empty title="Nothing is changed yet">Add a weight, an option, some capacity or a project on the left.</Empty>
          ) : (
            <>
              <Preview data={data} error={error} />
              {data && isAdmin() && <Apply key={params.get("s")} group={group} change={asked} basis={data.config_revision} said={summary(data)} reset={() => change({ s: encode(EMPTY) })} />}
            </>
          )}
        </Card>
      </div>
    </Page>
  );
}

function CopyLink() {
  const [copied, setCopied] = useState(false);
  return <Button onClick={() => void navigator.clipboard?.writeText(location.href).then(() => setCopied(true))}>{copied ? "Copied" : "Copy as link"}</Button>;
}

interface Part {
  scenario: Scenario;
  set: (next: Partial<Scenario>) => void;
}

/** The list with one entry changed, or without it. */
function replaced<T>(list: T[], at: number, entry: T | null): T[] {
  return entry === null ? list.filter((_, index) => index !== at) : list.map((old, index) => (index === at ? entry : old));
}

function Remove({ what, act }: { what: string; act: () => void }) {
  return (
    <Button small kind="plain" aria-label={`Remove ${what}`} onClick={act}>
      ✕
    </Button>
  );
}

function Weights({ scenario, set }: Part) {
  const rows = scenario.weights;
  const add = () => set({ weights: [...rows, { tier: "domain", name: "", project: "", weight: "" }] });
  return (
    <Card title="Weights" aside={<Button small onClick={add}>Add a weight</Button>}>
      {rows.length === 0 && <p class="muted small">None is changed.</p>}
      {rows.map((row, at) => {
        const edit = (next: Partial<typeof row>) => set({ weights: replaced(rows, at, { ...row, ...next }) });
        return (
          <div key={at} class="row">
            <Select aria-label="Tier" style={{ width: "110px" }} options={[["domain", "domain"], ["project", "project"], ["user", "user"]]} value={row.tier} onChange={(event) => edit({ tier: event.currentTarget.value as "domain" })} />
            <input class="input" style={{ flex: "1 1 120px", width: "auto" }} aria-label={`Name of the ${row.tier}`} placeholder="name" list={row.tier === "user" ? undefined : `${row.tier}s`} value={row.name} onInput={(event) => edit({ name: event.currentTarget.value })} />
            {row.tier === "user" && <input class="input" style={{ flex: "1 1 110px", width: "auto" }} aria-label="Project of the user" placeholder="project" list="projects" value={row.project} onInput={(event) => edit({ project: event.currentTarget.value })} />}
            <input class="input" style={{ width: "90px" }} inputMode="decimal" aria-label={`Weight of ${row.tier} ${row.name}`} placeholder="default" value={row.weight} onInput={(event) => edit({ weight: event.currentTarget.value })} />
            <Remove what={`the weight of ${row.name}`} act={() => set({ weights: replaced(rows, at, null) })} />
          </div>
        );
      })}
    </Card>
  );
}

function Options({ scenario, set }: Part) {
  const rows = Object.entries(scenario.options);
  const unused: [string, string][] = [["scheduler", "Scheduler"], ...OPTIONS.filter((option) => option.kind !== "json").map((option): [string, string] => [option.key, option.name])];
  const free = unused.filter(([key]) => scenario.options[key] === undefined);
  const edit = (key: string, text: string) => set({ options: { ...scenario.options, [key]: text } });
  return (
    <Card title="Options">
      {rows.map(([key, text]) => {
        const option = OPTIONS.find((option) => option.key === key);
        const choices = key === "scheduler" ? SCHEDULERS : option?.choices;
        return (
          <div key={key} class="row">
            <div style={{ flex: "1 1 200px" }}>
              <Field label={option ? `${option.name}${option.unit ? `, ${option.unit}` : ""}` : "Scheduler"} fault={option && "fault" in parse(option, text) ? (parse(option, text) as { fault: string }).fault : undefined}>
                {(props) =>
                  choices ? (
                    <Select {...props} options={[["", "the default"], ...choices]} value={text} onChange={(event) => edit(key, event.currentTarget.value)} />
                  ) : (
                    <input {...props} value={text} placeholder={option?.standard} onInput={(event) => edit(key, event.currentTarget.value)} />
                  )
                }
              </Field>
            </div>
            <Remove what={option?.name ?? "the scheduler"} act={() => set({ options: Object.fromEntries(rows.filter(([other]) => other !== key)) })} />
          </div>
        );
      })}
      <Select aria-label="Add an option" options={[["", "Add an option…"], ...free]} value="" onChange={(event) => event.currentTarget.value && edit(event.currentTarget.value, "")} />
    </Card>
  );
}

function Capacity({ scenario, set, now }: Part & { now: string }) {
  const offered = slots(now);
  const known = ordered(Object.keys(offered));
  return (
    <Card title="Capacity from now on">
      {known.length === 0 && <p class="muted small">The group offers nothing yet.</p>}
      <div class="grid">
        {known.map((slot) => (
          <Field key={slot} label={`${slotName(slot)}, ${unit(slot)}`}>
            {(props) => <input {...props} inputMode="decimal" placeholder="as it is" value={scenario.capacity[slot] ?? ""} onInput={(event) => set({ capacity: { ...scenario.capacity, [slot]: event.currentTarget.value } })} />}
          </Field>
        ))}
      </div>
    </Card>
  );
}

function Projects({ scenario, set }: Part) {
  const rows = scenario.projects;
  return (
    <Card title="Projects in other domains" aside={<Button small onClick={() => set({ projects: [...rows, { project: "", domain: "" }] })}>Move a project</Button>}>
      {rows.length === 0 && <p class="muted small">None is moved.</p>}
      {rows.map((row, at) => (
        <div key={at} class="row">
          <input class="input" style={{ flex: "1 1 110px", width: "auto" }} aria-label="Project to move" placeholder="project" list="projects" value={row.project} onInput={(event) => set({ projects: replaced(rows, at, { ...row, project: event.currentTarget.value }) })} />
          <span>to</span>
          <input class="input" style={{ flex: "1 1 110px", width: "auto" }} aria-label="Domain to move it to" placeholder="domain" list="domains" value={row.domain} onInput={(event) => set({ projects: replaced(rows, at, { ...row, domain: event.currentTarget.value }) })} />
          <Remove what="the move" act={() => set({ projects: replaced(rows, at, null) })} />
        </div>
      ))}
    </Card>
  );
}

function Apply({ group, change, basis, said, reset }: { group: string; change: Change; basis: string; said: string; reset: () => void }) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  if (change.capacity) return <Note>Capacity is what nodes offer: this scenario can be looked at, and not applied. Without the capacity it can.</Note>;
  const act = async () => {
    setError(undefined);
    try {
      const { undo } = await apply(group, change, basis, reason.trim() || null);
      done.value = { text: `Applied. ${said.replaceAll("would ", "")}`, ...(undo ? { undo } : {}) };
      reset();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  return (
    <div class="stack">
      {error && (overtaken(error) ? <Note kind="bad">{overtaken(error)} The preview is the newest; look at it, and apply again.</Note> : <Failure error={error} />)}
      <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
      <div>
        <Button kind="primary" onClick={() => void act()}>
          Apply exactly this
        </Button>
      </div>
    </div>
  );
}
