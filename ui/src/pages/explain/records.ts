// The kernels of a day: its usage records, read to the end, and summed by kernel.
import { graphql } from "../../gql.ts";
import { request } from "../../lib/client.ts";
import { num, slots } from "../../lib/numbers.ts";
import { readAll } from "../../lib/pages.ts";

const RECORDS = graphql(`
  query RecordsOfDay($group: String!, $from: String!, $to: String!, $user: UUID, $project: UUID, $domain: String, $after: String) {
    usage_records(resource_group: $group, from: $from, to: $to, user_uuid: $user, project_id: $project, domain_name: $domain, first: 500, after: $after) {
      count
      pageInfo { hasNextPage endCursor }
      edges { node { kernel_id resource_usage } }
    }
  }
`);

/** A browser sums no more pages than these: a day of a large project may have more records. */
const MOST_PAGES = 20;

export interface Asked {
  group: string;
  from: string;
  to: string;
  user: string | null;
  project: string | null;
  domain: string | null;
}

export interface Kernels {
  /** Slot-seconds by kernel and slot. */
  sums: Map<string, Record<string, number>>;
  /** Records that were summed, and the number of all. */
  read: number;
  count: number;
}

export function summed(nodes: { kernel_id: string; resource_usage: string }[]): Kernels["sums"] {
  const sums: Kernels["sums"] = new Map();
  for (const node of nodes) {
    const sum = sums.get(node.kernel_id) ?? {};
    for (const [slot, value] of Object.entries(slots(node.resource_usage))) sum[slot] = (sum[slot] ?? 0) + num(value);
    sums.set(node.kernel_id, sum);
  }
  return sums;
}

export async function kernelsOf(asked: Asked, signal: AbortSignal): Promise<Kernels> {
  const { nodes, count } = await readAll(async (after) => (await request(RECORDS, { ...asked, after }, signal)).usage_records, MOST_PAGES);
  return { sums: summed(nodes), read: nodes.length, count };
}
