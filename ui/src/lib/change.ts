// A change of weights, options, capacity or projects: tried, made, and taken back.
import { graphql } from "../gql.ts";
import { ApiError, request } from "./client.ts";
import { revision } from "./query.ts";
import { ago } from "./time.ts";

const SIMULATE = graphql(`query SimulateShares($group: String!, $input: JSONString!) { simulate_fair_shares(resource_group: $group, input: $input) }`);
const APPLY = graphql(`mutation ApplyShares($group: String!, $input: JSONString!) { apply_fair_share_simulation(resource_group: $group, input: $input) }`);
const UNDO = graphql(`mutation UndoChange($id: ID!, $reason: String) { undo_change(id: $id, reason: $reason) { id } }`);

export interface WeightChange {
  target_type: "domain" | "project" | "user";
  target_id?: string;
  project_id?: string | null;
  domain_name?: string;
  project?: string;
  user?: string;
  weight: string | null;
}

/** What the server takes as a simulation. */
export interface Change {
  weights?: WeightChange[];
  scheduler?: string;
  scheduler_opts?: Record<string, unknown>;
  capacity?: Record<string, string>;
  projects?: { project?: string; project_id?: string; domain_name: string }[];
  workloads?: { workload_id: string; user_uuid: string; project_id: string; requested_slots: Record<string, string> }[];
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
}

export interface Simulated {
  config_revision: string;
  applied: { audit_id: number | null; config_revision: string } | null;
  domains: ChangedList;
  projects: ChangedList;
  users: ChangedList;
  winners: Mover[];
  losers: Mover[];
  workloads: { items: { workload_id: string; position_before: number; position_after: number }[] } | null;
  warnings: { detail: string }[];
  fairness: FairnessChange[];
}

/** How many rows of a tier a preview shows. */
const ROWS = 50;

export async function simulate(group: string, change: Change, signal?: AbortSignal): Promise<Simulated> {
  const answer = await request(SIMULATE, { group, input: JSON.stringify({ ...change, limit: ROWS }) }, signal);
  return JSON.parse(answer.simulate_fair_shares) as Simulated;
}

/** Makes the change, on the grounds of the configuration that a preview was made from. Returns the way back. */
export async function apply(group: string, change: Change, basis: string | undefined, reason: string | null): Promise<{ made: Simulated; undo?: () => Promise<void> }> {
  const { weights, scheduler, scheduler_opts, projects } = change;
  const input = { weights, scheduler, scheduler_opts, projects, reason, if_revision: basis, limit: ROWS };
  const answer = await request(APPLY, { group, input: JSON.stringify(input) }).catch((error: unknown) => {
    // What is shown is made anew, so that nobody decides on an old picture.
    if (error instanceof ApiError && overtaken(error)) changed(group);
    throw error;
  });
  const made = JSON.parse(answer.apply_fair_share_simulation) as Simulated;
  changed(group);
  const id = made.applied?.audit_id;
  return id === null || id === undefined ? { made } : { made, undo: () => undo(group, String(id)) };
}

export async function undo(group: string, id: string, reason: string | null = null): Promise<void> {
  await request(UNDO, { id, reason });
  changed(group);
}

function changed(group: string): void {
  revision.value = `${group} changed ${Date.now()}`;
}

/** Who changed the same meanwhile, in a sentence; `undefined`: that is not what went wrong. */
export function overtaken(error: ApiError): string | undefined {
  const { actor, at } = error.extra;
  if (error.code !== "config_changed" && error.code !== "changed_since") return undefined;
  const who = typeof actor === "string" ? actor : "Somebody";
  const when = typeof at === "string" ? ` ${ago(at)}` : "";
  return `${who} changed the configuration of this group${when}. Nothing of yours was saved.`;
}
