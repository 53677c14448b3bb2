// A scenario as part of an address: every person who has the link sees the same, and may apply exactly that.
import type { Change, WeightChange, Workload } from "../../lib/change.ts";
import { slots } from "../../lib/numbers.ts";
import { amountFault, countedAmount, weightFault } from "../../lib/quantity.ts";
import { priorityFault, queueWeightFault, quotaFault } from "../queues/draft.ts";
import type { Configured, Queue } from "../queues/query.ts";

export interface Scenario {
  weights: { tier: "domain" | "project" | "user"; name: string; project: string; weight: string }[];
  /** Options as texts, as a person types them. */
  options: Record<string, string>;
  /** In the unit that people read. */
  capacity: Record<string, string>;
  projects: { project: string; domain: string }[];
  /** Users who come; a project that is new needs a domain. */
  added: { user: string; project: string; domain: string; weight: string }[];
  /** Users who go, from one project or from all. */
  removed: { user: string; project: string }[];
  /** Queues that are changed or new; what is empty stays as it is. */
  queues: QueueDraft[];
  /** The revision of the configuration at which the scenario was begun. */
  basis?: string;
}

export interface QueueDraft {
  name: string;
  parent: string;
  priority: string;
  weight: string;
  /** In the unit that people read. */
  quota: Record<string, string>;
}

export const EMPTY: Scenario = { weights: [], options: {}, capacity: {}, projects: [], added: [], removed: [], queues: [] };

/** True for a scenario that changes nothing. */
export function isNothing({ weights, options, capacity, projects, added, removed, queues }: Scenario): boolean {
  return [weights, projects, added, removed, queues, Object.keys(options), Object.values(capacity).filter(Boolean)].every((part) => part.length === 0);
}

/** The scenario with some parts changed. The first change begins it at `shown`; without any it has no beginning. */
export function withParts({ basis, ...scenario }: Scenario, parts: Partial<Scenario>, shown: string | undefined): Scenario {
  const next = { ...scenario, ...parts };
  if (isNothing(next)) return next;
  const begun = isNothing(scenario) ? shown : (basis ?? shown);
  return begun === undefined ? next : { ...next, basis: begun };
}

export function encode(scenario: Scenario): string {
  const bytes = new TextEncoder().encode(JSON.stringify(scenario));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The scenario of an address; one that cannot be read is empty. */
export function decode(text: string | null): Scenario {
  if (!text) return EMPTY;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    const read = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Scenario>;
    return { ...EMPTY, ...read };
  } catch {
    return EMPTY;
  }
}

/** Typed amounts of slots as the server counts them; an empty text changes nothing. */
export function amounts(typed: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(typed).filter(([, text]) => text.trim() !== "").map(([slot, text]) => [slot, countedAmount(slot, text)]));
}

/** True for a scenario with a number that cannot be read: it is neither tried nor applied, and its field says why. */
export function isFaulty(scenario: Scenario): boolean {
  const faults = [
    ...Object.values(scenario.capacity).map(amountFault),
    ...[...scenario.weights, ...scenario.added].map(({ weight }) => weightFault(weight)),
    ...scenario.queues.flatMap(({ priority, weight, quota }) => [priorityFault(priority), queueWeightFault(weight), ...Object.values(quota).map(quotaFault)]),
  ];
  return faults.some((fault) => fault !== undefined);
}

/** The change as the server takes it; rows that are not filled in yet are left out. `null`: there is nothing to try. */
export function changeOf(scenario: Scenario, parse: (key: string, text: string) => unknown): Change | null {
  const options = Object.entries(scenario.options).filter(([key]) => key !== "scheduler");
  const parts: Change = {
    weights: scenario.weights.filter((row) => row.name && (row.tier !== "user" || row.project)).map(weightOf),
    projects: scenario.projects.filter((move) => move.project && move.domain).map((move) => ({ project: move.project, domain_name: move.domain })),
    add_users: scenario.added.filter((row) => row.user && row.project).map(addedOf),
    remove_users: scenario.removed.filter((row) => row.user).map((row) => ({ user: row.user, ...(row.project ? { project: row.project } : {}) })),
    capacity: amounts(scenario.capacity),
    scheduler_opts: Object.fromEntries(options.map(([key, text]) => [key, parse(key, text)])),
    ...(scenario.options["scheduler"] ? { scheduler: scenario.options["scheduler"] } : {}),
  };
  const filled = Object.entries(parts).filter(([, part]) => typeof part === "string" || Object.keys(part as object).length > 0);
  return filled.length > 0 ? (Object.fromEntries(filled) as Change) : null;
}

function addedOf({ user, project, domain, weight }: Scenario["added"][number]) {
  return { user, project, ...(domain ? { domain_name: domain } : {}), ...(weight.trim() ? { weight: weight.trim() } : {}) };
}

function weightOf(row: Scenario["weights"][number]): WeightChange {
  const weight = row.weight.trim() || null;
  if (row.tier === "domain") return { target_type: "domain", domain_name: row.name, weight };
  if (row.tier === "project") return { target_type: "project", project: row.name, weight };
  return { target_type: "user", user: row.name, project: row.project, weight };
}

/** The queues of a scenario as they would be written, over those that are there. */
export function queuesOf(scenario: Scenario, known: Configured[]): Queue[] {
  const before = new Map(known.map((queue) => [queue.name, queue]));
  return scenario.queues
    .filter((draft) => draft.name.trim() !== "")
    .map((draft): Queue => {
      const queue = before.get(draft.name.trim());
      return {
        ...queue,
        name: draft.name.trim(),
        ...(draft.parent ? { parent: draft.parent } : {}),
        ...(draft.priority.trim() ? { priority: Number(draft.priority) } : {}),
        ...(draft.weight.trim() ? { weight: draft.weight.trim() } : {}),
        quota: JSON.stringify({ ...slots(queue?.quota), ...amounts(draft.quota) }),
      };
    });
}

interface Waiting {
  workload_id: string;
  user_uuid: string;
  project_id: string;
  requested_slots: string;
  priority: number;
  queue: string;
  submitted_at: string | null;
  expected_seconds: number | null;
  known_order: number | null;
}

/** Workloads that wait with all that the order of pending work looks at, the one that has been known the longest first: that decides between equals. */
export function workloadsOf(waiting: Waiting[]): Workload[] {
  return waiting
    .toSorted((a, b) => (a.known_order ?? 0) - (b.known_order ?? 0))
    .map(({ workload_id, user_uuid, project_id, requested_slots, priority, queue, submitted_at, expected_seconds }) => ({ workload_id, user_uuid, project_id, requested_slots: slots(requested_slots), priority, queue, submitted_at, expected_seconds }));
}
