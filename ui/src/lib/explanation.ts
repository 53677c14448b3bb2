// Explanations of the server, in the shape of `GET /resource-groups/{rg}/explain`.
import { graphql } from "../gql.ts";
import type { Action } from "./copy.ts";

export const EXPLAIN = graphql(`
  query Explain($group: String!, $tier: String, $domain: String, $project: String, $user: String, $place: Int) {
    explain_fair_share(resource_group: $group, tier: $tier, domain: $domain, project: $project, user: $user, place: $place)
  }
`);

export function explainAction(group: string, entity: Record<string, string>, place: number | null): Action {
  const { tier, domain, project, user } = entity;
  return {
    document: EXPLAIN,
    variables: { group, ...entity, place },
    rest: { path: ["resource-groups", group, "explain"], query: { tier, domain, project, user, place } },
    command: ["explain", ...(user ? [user] : []), ["--project", project], ["--domain", domain], ["--group", group], ["--place", place]],
  };
}

export interface ExplainedEntity {
  user_uuid?: string;
  user_name?: string;
  project_id?: string;
  project_name?: string;
  domain_name: string;
}

interface Compared {
  normalized_usage: string;
  effective_weight: string;
  exponent: string;
}

export interface Neighbour {
  decided_by: string;
  who?: ExplainedEntity;
  place?: number;
  theirs?: Compared;
  yours?: Compared;
  because: string;
}

export interface BucketPart {
  period_start: string;
  period_end: string;
  resource_usage: Record<string, string>;
  age_days: number;
  decay_weight: string;
  normalized_usage: string;
  contribution: string;
  part: string;
}

/** An account or a user of Slurm's tree, with the figures of `sshare -l`. */
export interface TreeLevel {
  tier: string;
  name: string;
  raw_shares: string;
  normalized_shares: string;
  raw_usage: string;
  normalized_usage: string;
  effective_usage: string;
  fair_share: string;
  /** `null`: infinite. */
  level_fair_share: string | null;
}

export interface OutlookDate {
  date: string;
  place: number;
  normalized_usage: string;
  fair_share_factor: string;
}

interface Beside {
  resource_usage: Record<string, string>;
  normalized_usage: string;
}

export interface PathAhead {
  from: string;
  next_run: OutlookDate | null;
  dates: OutlookDate[];
  until: string;
}

export interface Explanation extends ExplainedEntity {
  tier: string;
  summary: string;
  in_group: boolean;
  rank: number | null;
  place: number | null;
  of: number;
  equals: number;
  order: string;
  formula: { normalized_usage: string; effective_weight: string; exponent: string; fair_share_factor: string; text: string };
  /** Only under the schedulers of Slurm. */
  tree_levels?: TreeLevel[];
  weights: { tier: string; weight: string; source: string; set_by: string | null; set_at: string | null; reason: string | null }[];
  rules: { calculated_at: string | null; today: string; decay: string; half_life_days: number; lookback_days: number };
  buckets: BucketPart[];
  unrecorded: Beside;
  committed: Beside;
  above: Neighbour | null;
  below: Neighbour | null;
  if_nothing_is_run: PathAhead;
  weights_for_places: { wanted: number; place: number | null; weight: string | null }[];
  costs: { place: number; normalized_usage: string; any_of: Record<string, string> } | null;
}

export function nameOf(entity: ExplainedEntity): string {
  return entity.user_name ?? entity.user_uuid ?? entity.project_name ?? entity.project_id ?? entity.domain_name;
}
