// The order in which the scheduler would start pending kernels.
import { graphql, type ResultOf } from "../../gql.ts";

export const PENDING = graphql(`
  query Pending($group: String!) {
    resource_group(name: $group) { scheduler waiting }
    sequence(resource_group: $group, first: 200) {
      mode message count
      items { workload_id user_uuid user_name project_id project_name position requested_slots rank fair_share_factor ahead owners_ahead because }
    }
  }
`);

export type Item = ResultOf<typeof PENDING>["sequence"]["items"][number];
