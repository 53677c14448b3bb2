// Queues as configured and what they deserve now.
import { graphql, type ResultOf, type VariablesOf } from "../../gql.ts";

export const QUEUES = graphql(`
  query Queues($group: String!) {
    resource_group(name: $group) { config_revision }
    division(resource_group: $group, explain: true) {
      algorithm options capacity remaining
      queues { name parent fair_share state saturation_ratio quota limit request allocated }
      warnings { code queue slot detail }
      trace { queue sentence }
    }
    queues(resource_group: $group, first: 1000) {
      count
      edges {
        node {
          name parent priority weight mode created_at quota limit guarantee over_quota_weight
          children_over_quota_by min_share_ratio reclaimable preempt_min_runtime reclaim_min_runtime
        }
      }
    }
  }
`);

export const SAVE_QUEUES = graphql(`
  mutation SaveQueues($group: String!, $queues: [QueueInput!]!, $reason: String, $basis: String) {
    upsert_queues(resource_group: $group, queues: $queues, reason: $reason, if_revision: $basis) { created_count changed_count warnings { code queue slot detail } }
  }
`);

export const DELETE_QUEUE = graphql(`
  mutation DeleteQueue($group: String!, $name: String!, $reason: String, $basis: String) {
    delete_queue(resource_group: $group, name: $name, reason: $reason, if_revision: $basis)
  }
`);

export const BASIS = graphql(`query Basis($group: String!) { resource_group(name: $group) { config_revision } }`);

export const PLAN = graphql(`query Plan($group: String!, $workload: JSONString!) { plan_reclaim(resource_group: $group, workload: $workload) }`);

/** The same division twice: of the queues as they are, and as they would be. */
export const COMPARE = graphql(`query CompareDivisions($before: JSONString!, $after: JSONString!) { before: simulate_division(input: $before) after: simulate_division(input: $after) }`);

export type Divided = ResultOf<typeof QUEUES>["division"]["queues"][number];
export type Configured = ResultOf<typeof QUEUES>["queues"]["edges"][number]["node"];
export type Data = ResultOf<typeof QUEUES>;
export type Queue = VariablesOf<typeof SAVE_QUEUES>["queues"][number];

/** With the queues of now, since the history does not keep parents. */
export const PAST_DIVISION = graphql(`
  query PastDivision($group: String!, $day: Date!) {
    queues(resource_group: $group, first: 1000) { edges { node { name parent } } }
    division_history(resource_group: $group, from: $day, to: $day, first: 1000) {
      count
      edges { node { queue algorithm fair_share allocated request quota saturation_ratio calculated_at } }
    }
  }
`);
