// The parts of a scenario, each with its form.
import { useId } from "preact/hooks";
import { facts, labelled, optionOf } from "../../lib/metadata.ts";
import { slots } from "../../lib/numbers.ts";
import { amountFault, weightFault } from "../../lib/quantity.ts";
import { ordered, slotLabel } from "../../lib/units.ts";
import { Button, Card, Field, Select } from "../../ui/Basics.tsx";
import { priorityFault, queueWeightFault, quotaFault } from "../queues/draft.ts";
import { parse, placeholderOf } from "../settings/options.ts";
import type { QueueDraft, Scenario } from "./scenario.ts";

export interface Part {
  scenario: Scenario;
  set: (next: Partial<Scenario>) => void;
}

/** The list with one entry changed, or without it. */
export function replaced<T>(list: T[], at: number, entry: T | null): T[] {
  return entry === null ? list.filter((_, index) => index !== at) : list.map((old, index) => (index === at ? entry : old));
}

export function Remove({ what, act }: { what: string; act: () => void }) {
  return (
    <Button small kind="plain" aria-label={`Remove ${what}`} onClick={act}>
      ✕
    </Button>
  );
}

export function Options({ scenario, set }: Part) {
  const rows = Object.entries(scenario.options);
  const unused: [string, string][] = [["scheduler", "Scheduler"], ...facts().options.filter((option) => option.type !== "object").map((option): [string, string] => [option.key, option.title])];
  const free = unused.filter(([key]) => scenario.options[key] === undefined);
  const edit = (key: string, text: string) => set({ options: { ...scenario.options, [key]: text } });
  return (
    <Card title="Options">
      {rows.map(([key, text]) => {
        const option = optionOf(key);
        const choices = labelled(key === "scheduler" ? facts().schedulers : (option?.choices ?? []));
        return (
          <div key={key} class="row entry">
            <div style={{ flex: "1 1 200px" }}>
              <Field label={option ? `${option.title}${option.unit ? `, ${option.unit}` : ""}` : "Scheduler"} fault={option && "fault" in parse(option, text) ? (parse(option, text) as { fault: string }).fault : undefined}>
                {(props) =>
                  choices.length > 0 ? (
                    <Select {...props} options={[["", "the default"], ...choices]} value={text} onChange={(event) => edit(key, event.currentTarget.value)} />
                  ) : (
                    <input {...props} value={text} placeholder={option && placeholderOf(option)} onInput={(event) => edit(key, event.currentTarget.value)} />
                  )
                }
              </Field>
            </div>
            <Remove what={option?.title ?? "the scheduler"} act={() => set({ options: Object.fromEntries(rows.filter(([other]) => other !== key)) })} />
          </div>
        );
      })}
      <Select aria-label="Add an option" options={[["", "Add an option…"], ...free]} value="" onChange={(event) => event.currentTarget.value && edit(event.currentTarget.value, "")} />
    </Card>
  );
}

export function Capacity({ scenario, set, now }: Part & { now: string }) {
  const offered = slots(now);
  const known = ordered(Object.keys(offered));
  return (
    <Card title="Capacity from now on">
      {known.length === 0 && <p class="muted small">The group offers nothing yet.</p>}
      <div class="grid">
        {known.map((slot) => (
          <Field key={slot} label={slotLabel(slot)} fault={amountFault(scenario.capacity[slot] ?? "")}>
            {(props) => <input {...props} inputMode="decimal" placeholder="as it is" value={scenario.capacity[slot] ?? ""} onInput={(event) => set({ capacity: { ...scenario.capacity, [slot]: event.currentTarget.value } })} />}
          </Field>
        ))}
      </div>
    </Card>
  );
}

export function Projects({ scenario, set }: Part) {
  const rows = scenario.projects;
  return (
    <Card title="Projects in other domains" aside={<Button small onClick={() => set({ projects: [...rows, { project: "", domain: "" }] })}>Move a project</Button>}>
      {rows.length === 0 && <p class="muted small">None is moved.</p>}
      {rows.map((row, at) => (
        <div key={at} class="row entry">
          <input class="input" style={{ flex: "1 1 110px", width: "auto" }} aria-label="Project to move" placeholder="project" list="projects" value={row.project} onInput={(event) => set({ projects: replaced(rows, at, { ...row, project: event.currentTarget.value }) })} />
          <span>to</span>
          <input class="input" style={{ flex: "1 1 110px", width: "auto" }} aria-label="Domain to move it to" placeholder="domain" list="domains" value={row.domain} onInput={(event) => set({ projects: replaced(rows, at, { ...row, domain: event.currentTarget.value }) })} />
          <Remove what="the move" act={() => set({ projects: replaced(rows, at, null) })} />
        </div>
      ))}
    </Card>
  );
}

const TEXT = { class: "input", style: { flex: "1 1 110px", width: "auto" } };

export function People({ scenario, set }: Part) {
  const { added, removed } = scenario;
  const edit = (at: number, next: Partial<Scenario["added"][number]>) => set({ added: added.map((row, index) => (index === at ? { ...row, ...next } : row)) });
  const drop = (at: number, next: Partial<Scenario["removed"][number]>) => set({ removed: removed.map((row, index) => (index === at ? { ...row, ...next } : row)) });
  return (
    <Card
      title="People"
      aside={
        <span class="row">
          <Button small onClick={() => set({ added: [...added, { user: "", project: "", domain: "", weight: "" }] })}>
            Add a user
          </Button>
          <Button small onClick={() => set({ removed: [...removed, { user: "", project: "" }] })}>
            Remove a user
          </Button>
        </span>
      }
    >
      {added.length + removed.length === 0 && <p class="muted small">No user comes or goes.</p>}
      {added.map((row, at) => (
        <div key={`+${at}`} class="row entry">
          <span>comes</span>
          <input {...TEXT} aria-label="User who comes" placeholder="user" value={row.user} onInput={(event) => edit(at, { user: event.currentTarget.value })} />
          <input {...TEXT} aria-label="Project to come into" placeholder="project" list="projects" value={row.project} onInput={(event) => edit(at, { project: event.currentTarget.value })} />
          <input {...TEXT} aria-label="Domain, if the project is new" placeholder="domain, if it is new" list="domains" value={row.domain} onInput={(event) => edit(at, { domain: event.currentTarget.value })} />
          <NewWeight user={row.user} weight={row.weight} set={(weight) => edit(at, { weight })} />
          <Remove what={`the coming of ${row.user}`} act={() => set({ added: replaced(added, at, null) })} />
        </div>
      ))}
      {removed.map((row, at) => (
        <div key={`-${at}`} class="row entry">
          <span>goes</span>
          <input {...TEXT} aria-label="User who goes" placeholder="user" value={row.user} onInput={(event) => drop(at, { user: event.currentTarget.value })} />
          <input {...TEXT} aria-label="Project to leave" placeholder="all projects" list="projects" value={row.project} onInput={(event) => drop(at, { project: event.currentTarget.value })} />
          <Remove what={`the going of ${row.user}`} act={() => set({ removed: replaced(removed, at, null) })} />
        </div>
      ))}
    </Card>
  );
}

function NewWeight({ user, weight, set }: { user: string; weight: string; set: (weight: string) => void }) {
  const id = useId();
  const fault = weightFault(weight);
  return (
    <span style={{ width: "90px" }}>
      <input class="input" inputMode="decimal" aria-label={`Weight of ${user || "the new user"}`} aria-invalid={fault ? "true" : undefined} aria-describedby={fault && id} placeholder="default" value={weight} onInput={(event) => set(event.currentTarget.value)} />
      {fault && <span class="bad small" id={id}>{fault}</span>}
    </span>
  );
}

export function Queues({ scenario, set, known, offered }: Part & { known: string[]; offered: string[] }) {
  const rows = scenario.queues;
  const edit = (at: number, next: Partial<QueueDraft>) => set({ queues: rows.map((row, index) => (index === at ? { ...row, ...next } : row)) });
  return (
    <Card title="Queues" aside={<Button small onClick={() => set({ queues: [...rows, { name: "", parent: "", priority: "", weight: "", quota: {} }] })}>Change a queue</Button>}>
      {rows.length === 0 && <p class="muted small">None is changed. What queues deserve has no part in ranks.</p>}
      <datalist id="queues">{known.map((name) => <option key={name}>{name}</option>)}</datalist>
      {rows.map((row, at) => {
        const isNew = row.name !== "" && !known.includes(row.name);
        return (
          <div key={at} class="stack tight">
            <div class="row entry">
              <input {...TEXT} aria-label="Name of the queue" placeholder="queue" list="queues" value={row.name} onInput={(event) => edit(at, { name: event.currentTarget.value })} />
              <Select aria-label={`What ${row.name || "the queue"} is below`} style={{ width: "150px" }} options={[["", isNew ? "no other queue" : "as it is"], ...known.map((name): [string, string] => [name, `below ${name}`])]} value={row.parent} onChange={(event) => edit(at, { parent: event.currentTarget.value })} />
              <Remove what={`the change of the queue ${row.name}`} act={() => set({ queues: replaced(rows, at, null) })} />
            </div>
            <div class="grid">
              {offered.map((slot) => (
                <Field key={slot} label={`Quota of ${slotLabel(slot)}`} fault={quotaFault(row.quota[slot] ?? "")}>
                  {(props) => <input {...props} inputMode="decimal" placeholder={isNew ? "none" : "as it is"} value={row.quota[slot] ?? ""} onInput={(event) => edit(at, { quota: { ...row.quota, [slot]: event.currentTarget.value } })} />}
                </Field>
              ))}
              <Field label="Priority" fault={priorityFault(row.priority)}>{(props) => <input {...props} inputMode="numeric" placeholder={isNew ? "0" : "as it is"} value={row.priority} onInput={(event) => edit(at, { priority: event.currentTarget.value })} />}</Field>
              <Field label="Weight of the queue" fault={queueWeightFault(row.weight)}>{(props) => <input {...props} inputMode="decimal" placeholder={isNew ? "1" : "as it is"} value={row.weight} onInput={(event) => edit(at, { weight: event.currentTarget.value })} />}</Field>
            </div>
          </div>
        );
      })}
    </Card>
  );
}
