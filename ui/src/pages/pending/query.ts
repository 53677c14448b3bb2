// Workloads that wait, and what is held and free beside them.
import { graphql, type ResultOf } from "../../gql.ts";

export const PENDING = graphql(`
  query Pending($group: String!) {
    resource_group(name: $group) { scheduler waiting capacity }
    forecasts(resource_group: $group) { starts inside median_error_seconds }
    waiting: workloads(resource_group: $group, status: PENDING, first: 200) { count edges { node {
        workload_id status user_uuid user project_id project queue priority gang_min requested_slots position waiting_since submitted_at
        members { total pending running ended }
        waiting { reason details blocked_by reserved_at }
        forecast { p10 p50 p90 not_known_yet as_of }
      } } }
    starting: workloads(resource_group: $group, status: STARTING, first: 200) { count edges { node {
        workload_id status user_uuid user project_id project queue priority gang_min requested_slots position waiting_since submitted_at
        members { total pending running ended }
        waiting { reason details blocked_by reserved_at }
        forecast { p10 p50 p90 not_known_yet as_of }
      } } }
  }
`);

/** The kernels of one workload, for its row when it is unfolded. */
export const MEMBERS = graphql(`
  query WorkloadMembers($group: String!, $workload: String!) {
    workload(resource_group: $group, workload_id: $workload) {
      kernel_ids labels expected_seconds preemptible status_changes { status at }
    }
  }
`);

export const WHAT_IF = graphql(`
  query WorkloadWhatIf($group: String!, $workload: String!, $change: JSONString!) {
    workload_what_if(resource_group: $group, workload_id: $workload, change: $change)
  }
`);

/** What would let a workload start earlier. The server makes several forecasts for it, so it is asked for on request. */
export const HELPS = graphql(`
  query WorkloadHelps($group: String!, $workload: String!) {
    workload(resource_group: $group, workload_id: $workload, helps: true) {
      helps { change queue p10 p50 p90 as_of }
    }
  }
`);

export const OCCUPANCY = graphql(`
  query Occupancy($group: String!, $by: OccupancyBy!) {
    occupancy(resource_group: $group, by: $by) {
      capacity held free
      items { name held share running pending free schedulable }
    }
  }
`);

export type Workload = ResultOf<typeof PENDING>["waiting"]["edges"][number]["node"];
export type Holder = ResultOf<typeof OCCUPANCY>["occupancy"]["items"][number];
