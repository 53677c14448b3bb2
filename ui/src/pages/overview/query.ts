// The queries of the overview.
import { graphql, type ResultOf } from "../../gql.ts";

export const OVERVIEW = graphql(`
  query Overview($group: String!) {
    resource_group(name: $group) {
      scheduler capacity in_use waiting calculated_at scheduler_opts
      warnings { code detail pointer }
    }
    domain_fair_shares(resource_group: $group, first: 50) {
      count
      edges { node { domain_name } }
    }
    now: fairness(resource_group: $group, window: "now", tier: DOMAIN) { misallocated_share entries(first: 1000) { edges { node { domain_name used_share entitled_share } } } }
    week: fairness(resource_group: $group, window: "7d", tier: DOMAIN) { misallocated_share entries(first: 1000) { edges { node { domain_name used_share entitled_share } } } }
    month: fairness(resource_group: $group, window: "28d", tier: DOMAIN) { misallocated_share entries(first: 1000) { edges { node { domain_name used_share entitled_share } } } }
    rank_movers(resource_group: $group, first: 5) {
      since
      up { user_uuid user_name project_id project_name rank ranked_count previous_rank lookback_end }
      down { user_uuid user_name project_id project_name rank ranked_count previous_rank lookback_end }
    }
    best: user_fair_shares(resource_group: $group, first: 5) {
      count
      edges { node { user_uuid user_name project_id project_name fair_share_factor rank ranked_count previous_rank lookback_end } }
    }
    worst: user_fair_shares(resource_group: $group, last: 5) {
      edges { node { user_uuid user_name project_id project_name fair_share_factor rank ranked_count previous_rank lookback_end } }
    }
    usage_gaps(resource_group: $group, first: 3) {
      count
      edges { node { started_at ended_at kernels gap_policy } }
    }
    agents(resource_group: $group, first: 1000) { count edges { node { agent_id alive schedulable } } }
  }
`);

export const PAST = graphql(`
  query PastOverview($group: String!, $day: Date!, $from: String!, $to: String!) {
    usage_report(resource_groups: [$group], from: $from, to: $to, by: [RESOURCE_GROUP], first: 1) { edges { node { capacity_share } } }
    best: fair_share_history(resource_group: $group, tier: USER, from: $day, to: $day, order: RANK, first: 5) {
      count
      edges { node { user_uuid user_name project_id project_name fair_share_factor rank } }
    }
    worst: fair_share_history(resource_group: $group, tier: USER, from: $day, to: $day, order: RANK, last: 5) {
      edges { node { user_uuid user_name project_id project_name fair_share_factor rank } }
    }
    rank_movers_of_day(resource_group: $group, day: $day, first: 5) {
      since
      up { user_uuid user_name project_id project_name rank previous_rank }
      down { user_uuid user_name project_id project_name rank previous_rank }
    }
  }
`);

export const PAST_WINDOW = graphql(`
  query PastWindow($group: String!, $window: String!) {
    fairness(resource_group: $group, window: $window, tier: DOMAIN) { misallocated_share entries(first: 1000) { edges { node { domain_name used_share entitled_share } } } }
  }
`);

export type PastData = ResultOf<typeof PAST>;
export type PastWindow = ResultOf<typeof PAST_WINDOW>;
export type Data = ResultOf<typeof OVERVIEW>;
