// One domain, project or user: its share, its usage by day, where it stood, and what happened meanwhile.
import { graphql } from "../../gql.ts";

export const DOMAIN = graphql(`
  query OneDomain($group: String!, $name: String!) {
    resource_group(name: $group) { scheduler_opts decay_weights }
    share: domain_fair_share(resource_group: $group, domain_name: $name) {
      domain_name weight configured_weight effective_weight effective_usage entitled_share entitled_share_of_parent fair_share_factor rank ranked_count previous_rank in_group total_decayed_usage lookback_start lookback_end last_calculated_at
    }
    buckets: domain_usage_buckets(resource_group: $group, first: 1000, filter: { domain_name: { equals: $name } }) {
      edges { node { period_start period_end resource_usage capacity_snapshot } }
    }
    members: project_fair_shares(resource_group: $group, first: 50, filter: { domain_name: { equals: $name } }) {
      count
      edges { node { project_id project_name fair_share_factor effective_usage weight rank } }
    }
  }
`);

export const PROJECT = graphql(`
  query OneProject($group: String!, $project: UUID!) {
    resource_group(name: $group) { scheduler_opts decay_weights }
    share: project_fair_share(resource_group: $group, project_id: $project) {
      project_id project_name domain_name weight configured_weight effective_weight effective_usage entitled_share entitled_share_of_parent fair_share_factor rank ranked_count previous_rank in_group total_decayed_usage lookback_start lookback_end last_calculated_at
    }
    buckets: project_usage_buckets(resource_group: $group, first: 1000, filter: { project_id: { equals: $project } }) {
      edges { node { period_start period_end resource_usage capacity_snapshot } }
    }
    members: user_fair_shares(resource_group: $group, first: 50, filter: { project_id: { equals: $project } }) {
      count
      edges { node { user_uuid user_name project_id fair_share_factor effective_usage weight rank } }
    }
  }
`);

export const USER = graphql(`
  query OneUser($group: String!, $user: UUID!, $project: UUID!) {
    resource_group(name: $group) { scheduler_opts decay_weights }
    share: user_fair_share(resource_group: $group, user_uuid: $user, project_id: $project) {
      user_uuid user_name project_id project_name domain_name weight configured_weight effective_weight effective_usage entitled_share entitled_share_of_parent fair_share_factor rank ranked_count previous_rank in_group total_decayed_usage lookback_start lookback_end last_calculated_at
    }
    buckets: user_usage_buckets(resource_group: $group, first: 1000, filter: { user_uuid: { equals: $user }, project_id: { equals: $project } }) {
      edges { node { period_start period_end resource_usage capacity_snapshot } }
    }
    members: user_fair_shares(resource_group: $group, first: 50, filter: { user_uuid: { equals: $user } }) {
      count
      edges { node { user_uuid user_name project_id project_name fair_share_factor effective_usage weight rank } }
    }
  }
`);

export const HISTORY = graphql(`
  query ShareHistory($group: String!, $tier: FairnessTier!, $domain: String, $project: String, $user: String, $from: Date!, $to: Date!) {
    fair_share_history(resource_group: $group, tier: $tier, domain: $domain, project: $project, user: $user, from: $from, to: $to, first: 1000) {
      edges { node { day rank fair_share_factor effective_usage effective_weight entitled_share entitled_share_of_parent } }
    }
  }
`);

/** How many were ranked together on a day. */
export const RANKED = graphql(`
  query RankedThen($group: String!, $tier: FairnessTier!, $domain: String, $day: Date!) {
    fair_share_history(resource_group: $group, tier: $tier, domain: $domain, from: $day, to: $day, first: 1) { count }
  }
`);

export const MARKS = graphql(`
  query Marks($group: String!) {
    usage_gaps(resource_group: $group, first: 100) { edges { node { started_at ended_at kernels gap_policy } } }
    job_runs(resource_group: $group, failed: true, first: 100) { edges { node { job started_at error } } }
  }
`);

/** Changes of the weights of three tiers; only admins read the audit log. */
export const WEIGHT_CHANGES = graphql(`
  query WeightChanges($group: String!, $domain: String!, $project: String!, $user: String!, $from: String!) {
    domain: audit_log(resource_group: $group, target: $domain, from: $from, first: 100) { edges { node { id at actor action reason } } }
    project: audit_log(resource_group: $group, target: $project, from: $from, first: 100) { edges { node { id at actor action reason } } }
    user: audit_log(resource_group: $group, target: $user, from: $from, first: 100) { edges { node { id at actor action reason } } }
  }
`);
