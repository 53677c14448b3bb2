// One domain, project or user: its share and its usage by day.
import { graphql } from "../../gql.ts";

export const DOMAIN = graphql(`
  query OneDomain($group: String!, $name: String!) {
    resource_group(name: $group) { scheduler_opts capacity }
    share: domain_fair_share(resource_group: $group, domain_name: $name) {
      domain_name weight configured_weight effective_weight effective_usage fair_share_factor rank in_group total_decayed_usage lookback_start lookback_end last_calculated_at
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
    resource_group(name: $group) { scheduler_opts capacity }
    share: project_fair_share(resource_group: $group, project_id: $project) {
      project_id project_name domain_name weight configured_weight effective_weight effective_usage fair_share_factor rank in_group total_decayed_usage lookback_start lookback_end last_calculated_at
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
    resource_group(name: $group) { scheduler_opts capacity }
    share: user_fair_share(resource_group: $group, user_uuid: $user, project_id: $project) {
      user_uuid user_name project_id project_name domain_name weight configured_weight effective_weight effective_usage fair_share_factor rank in_group total_decayed_usage lookback_start lookback_end last_calculated_at
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
