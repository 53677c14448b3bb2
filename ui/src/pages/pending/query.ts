// Kernels that wait, and the order in which a scheduler would be told to start them.
import { graphql, type ResultOf } from "../../gql.ts";

export const PENDING = graphql(`
  query Pending($group: String!) {
    resource_group(name: $group) { scheduler waiting }
    kernels(resource_group: $group, status: PENDING, first: 1000) {
      count
      edges { node { kernel_id user_uuid project_id domain_name occupied_slots queue priority } }
    }
    sequence(resource_group: $group, first: 200) {
      mode message count
      items { workload_id user_uuid user_name project_id project_name position rank fair_share_factor ahead owners_ahead because }
    }
  }
`);

export type Kernel = ResultOf<typeof PENDING>["kernels"]["edges"][number]["node"];
export type Item = ResultOf<typeof PENDING>["sequence"]["items"][number];
