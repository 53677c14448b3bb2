// A change of weights, options, capacity, projects or people: tried, made, and taken back.
import { graphql } from "../gql.ts";
import { ApiError, request, requestWithWarnings, type WriteWarning } from "./client.ts";
import type { Action } from "./copy.ts";
import { revision } from "./query.ts";
import { ago } from "./time.ts";

const SIMULATE = graphql(`query SimulateShares($group: String!, $input: JSONString!) { simulate_fair_shares(resource_group: $group, input: $input) }`);
const APPLY = graphql(`mutation ApplyShares($group: String!, $input: JSONString!) { apply_fair_share_simulation(resource_group: $group, input: $input) }`);
const UNDO = graphql(`mutation UndoChange($id: ID!, $reason: String) { undo_change(id: $id, reason: $reason) { id } }`);
/** Likely mistakes in a group as it is now. */
export const GROUP_WARNINGS = graphql(`query GroupWarnings($group: String!) { resource_group(name: $group) { warnings { detail } } }`);

/** A write that was made. */
export interface Written {
  warnings: WriteWarning[];
  /** The way back; it answers what the server warns of then. */
  undo: () => Promise<WriteWarning[]>;
}

export interface WeightChange {
  target_type: "domain" | "project" | "user";
  target_id?: string;
  project_id?: string | null;
  domain_name?: string;
  project?: string;
  user?: string;
  weight: string | null;
}

/** Pending work, to be put in order before and after. */
export interface Workload {
  workload_id: string;
  user_uuid: string;
  project_id: string;
  requested_slots: Record<string, string>;
  priority: number;
  queue: string;
  submitted_at: string | null;
  expected_seconds: number | null;
}

/** The body of a simulation. */
export interface Change {
  weights?: WeightChange[];
  scheduler?: string;
  scheduler_opts?: Record<string, unknown>;
  capacity?: Record<string, string>;
  projects?: { project?: string; project_id?: string; domain_name: string }[];
  add_users?: { user: string; project: string; domain_name?: string; weight?: string }[];
  remove_users?: { user: string; project?: string }[];
  workloads?: Workload[];
}

interface Figures {
  weight: string;
  effective_weight: string;
  effective_usage: string;
  fair_share_factor: string;
  rank: number;
}

export interface Changed {
  domain_name?: string;
  project_id?: string;
  project_name?: string | null;
  user_uuid?: string;
  user_name?: string | null;
  before: Figures | null;
  after: Figures | null;
}

interface ChangedList {
  changed: number;
  risen: number;
  fallen: number;
  items: Changed[];
}

export interface Mover {
  user_uuid: string;
  user_name: string | null;
  project_id: string;
  project_name: string | null;
  rank_before: number;
  rank_after: number;
}

interface FairnessChange {
  tier: string;
  window_days: number;
  misallocated_share_before: string;
  misallocated_share_after: string;
  jains_index_before: string;
  jains_index_after: string;
}

export interface Simulated {
  config_revision: string;
  applied: { audit_id: number | null; config_revision: string } | null;
  domains: ChangedList;
  projects: ChangedList;
  users: ChangedList;
  winners: Mover[];
  losers: Mover[];
  /** How the order of the workloads changes that are reported as pending, and how many a cycle would start on one side alone. */
  pending: { count: number; moved: number; starts_before: number | null; starts_after: number | null; start_changes: { workload_id: string; starts_after: boolean }[] };
  workloads: { items: { workload_id: string; position_before: number; position_after: number }[] } | null;
  warnings: WriteWarning[];
  fairness: FairnessChange[];
}

/** How many rows of a tier a preview shows. */
const ROWS = 50;

export async function simulate(group: string, change: Change, signal?: AbortSignal): Promise<Simulated> {
  const answer = await request(SIMULATE, { group, input: JSON.stringify({ ...change, limit: ROWS }) }, signal);
  return JSON.parse(answer.simulate_fair_shares) as Simulated;
}

const simulations = (group: string): string[] => ["resource-groups", group, "fair-share-simulations"];

/** The question what a change would do. */
export function simulateAction(group: string, change: Change): Action {
  const body = { ...change, limit: ROWS };
  return { document: SIMULATE, variables: { group, input: JSON.stringify(body) }, rest: { method: "POST", path: simulations(group), body }, command: ["simulate", group, "-"], input: body };
}

/** The body of [`apply`]: the change without the parts that can be tried only. */
function applicable({ weights, scheduler, scheduler_opts, projects }: Change, basis: string, reason: string | null) {
  return { weights, scheduler, scheduler_opts, projects, reason, if_revision: basis, limit: ROWS };
}

/** The change itself. */
export function applyAction(group: string, change: Change, basis: string, reason: string | null): Action {
  const input = applicable(change, basis, reason);
  const body = { ...input, apply: true };
  return { document: APPLY, variables: { group, input: JSON.stringify(input) }, rest: { method: "POST", path: simulations(group), body }, command: ["simulate", group, "-"], input: body };
}

/** The way back from the entry of the audit log with this number. */
export function undoAction(id: string, reason: string | null): Action {
  return { document: UNDO, variables: { id, reason }, rest: { method: "POST", path: ["audit-log", id, "undo"], body: { reason } }, command: ["log", "undo", id, ["--reason", reason]] };
}

/** Makes the change, on the grounds of the configuration that a preview was made from. Returns the way back. */
export async function apply(group: string, change: Change, basis: string, reason: string | null): Promise<{ made: Simulated; undo?: Written["undo"] }> {
  const input = applicable(change, basis, reason);
  const answer = await guarded(group, request(APPLY, { group, input: JSON.stringify(input) }));
  const made = JSON.parse(answer.apply_fair_share_simulation) as Simulated;
  changed(group);
  const id = made.applied?.audit_id;
  return id === null || id === undefined ? { made } : { made, undo: () => undo(group, String(id)) };
}

export async function undo(group: string, id: string, reason: string | null = null): Promise<WriteWarning[]> {
  const { warnings } = await requestWithWarnings(UNDO, { id, reason });
  changed(group);
  return warnings;
}

const LAST = graphql(`
  query LastChange($group: String!) {
    audit_log(resource_group: $group, first: 20) { edges { node { actor at action target reason } } }
  }
`);

/** The answer of a write. If another client was faster, the refusal names it, and the page reads its data again. */
export async function guarded<T>(group: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError) || !overtaken(error)) throw error;
    changed(group);
    throw error.code === "config_changed" ? await withAuthor(group, error) : error;
  }
}

/** Reports of kernels are no changes of a configuration. */
const isChange = (action: string): boolean => !action.startsWith("kernels.");

async function withAuthor(group: string, error: ApiError): Promise<ApiError> {
  const log = await request(LAST, { group }).catch(() => null);
  const last = log?.audit_log.edges.map((edge) => edge.node).find((node) => isChange(node.action));
  return last ? new ApiError(error.code, error.message, error.faults, { ...error.extra, ...last }) : error;
}

export function changed(group: string): void {
  revision.value = `${group} changed ${Date.now()}`;
}

/** The client that changed the same meanwhile, in a sentence; `undefined`: the refusal has another reason. */
export function overtaken(error: ApiError): string | undefined {
  const { actor, at, action, reason } = error.extra;
  if (error.code !== "config_changed" && error.code !== "changed_since") return undefined;
  const who = typeof actor === "string" ? actor : "Another client";
  const when = typeof at === "string" ? ` ${ago(at)}` : "";
  const what = typeof action === "string" ? ` (${action}${typeof reason === "string" ? `: “${reason}”` : ""})` : "";
  return `${who} changed the configuration of this group${when}${what}. Nothing of yours was saved.`;
}
