// Queues as configured and what they deserve now.
import { graphql, type ResultOf } from "../../gql.ts";

export const QUEUES = graphql(`
  query Queues($group: String!) {
    division(resource_group: $group, explain: true) {
      algorithm options capacity remaining
      queues { name parent fair_share state saturation_ratio quota limit request allocated }
      warnings { code queue detail }
      trace { queue sentence }
    }
    queues(resource_group: $group, first: 1000) {
      count
      edges { node { name parent priority weight quota limit over_quota_weight reclaimable } }
    }
  }
`);

export const SAVE_QUEUES = graphql(`
  mutation SaveQueues($group: String!, $queues: [QueueInput!]!, $reason: String) {
    upsert_queues(resource_group: $group, queues: $queues, reason: $reason) { created_count changed_count warnings { detail } }
  }
`);

export const DELETE_QUEUE = graphql(`
  mutation DeleteQueue($group: String!, $name: String!, $reason: String) { delete_queue(resource_group: $group, name: $name, reason: $reason) }
`);

export const PLAN = graphql(`query Plan($group: String!, $workload: JSONString!) { plan_reclaim(resource_group: $group, workload: $workload) }`);

export const SIMULATE = graphql(`query SimulateDivision($input: JSONString!) { simulate_division(input: $input) }`);

export type Divided = ResultOf<typeof QUEUES>["division"]["queues"][number];
export type Configured = ResultOf<typeof QUEUES>["queues"]["edges"][number]["node"];
export type Data = ResultOf<typeof QUEUES>;

export const PAST_DIVISION = graphql(`
  query PastDivision($group: String!, $day: Date!) {
    division_history(resource_group: $group, from: $day, to: $day, first: 1000) {
      count
      edges { node { queue algorithm fair_share allocated request quota calculated_at } }
    }
  }
`);
