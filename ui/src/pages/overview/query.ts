// What the overview asks.
import { graphql } from "../../gql.ts";

export const OVERVIEW = graphql(`
  query Overview($group: String!) {
    resource_group(name: $group) {
      scheduler capacity in_use waiting calculated_at scheduler_opts
      warnings { code detail pointer }
    }
    domain_fair_shares(resource_group: $group, first: 50) {
      count
      edges { node { domain_name effective_usage entitled_share fair_share_factor rank } }
    }
    fairness(resource_group: $group, window: "7d", tier: DOMAIN) { misallocated_share }
    best: user_fair_shares(resource_group: $group, first: 5) {
      count
      edges { node { user_uuid user_name project_id project_name fair_share_factor rank } }
    }
    worst: user_fair_shares(resource_group: $group, last: 5) {
      edges { node { user_uuid user_name project_id project_name fair_share_factor rank } }
    }
    usage_gaps(resource_group: $group, first: 3) {
      count
      edges { node { started_at ended_at kernels gap_policy } }
    }
    agents(resource_group: $group, first: 1000) { count edges { node { agent_id alive schedulable } } }
  }
`);
