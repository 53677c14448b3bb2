// The kernels of a day: its usage records, read to the end, and summed by kernel.
import { graphql } from "../../gql.ts";
import { request } from "../../lib/client.ts";
import { num, slots } from "../../lib/numbers.ts";

const RECORDS = graphql(`
  query RecordsOfDay($group: String!, $from: String!, $to: String!, $user: UUID, $project: UUID, $after: String) {
    usage_records(resource_group: $group, from: $from, to: $to, user_uuid: $user, project_id: $project, first: 500, after: $after) {
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
}

interface Page {
  count: number;
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  edges: { node: { kernel_id: string; resource_usage: string } }[];
}

export interface Kernels {
  /** Slot-seconds by kernel and slot. */
  sums: Map<string, Record<string, number>>;
  /** Records that were summed, of so many. */
  read: number;
  count: number;
}

/** Sums what `page` answers, one page after the other, as long as there are more. */
export async function summed(page: (after: string | null) => Promise<Page>, most = MOST_PAGES): Promise<Kernels> {
  const kernels: Kernels = { sums: new Map(), read: 0, count: 0 };
  let after: string | null = null;
  for (let pages = 0; pages < most; pages += 1) {
    const { count, pageInfo, edges } = await page(after);
    kernels.count = count;
    kernels.read += edges.length;
    for (const { node } of edges) {
      const sum = kernels.sums.get(node.kernel_id) ?? {};
      for (const [slot, value] of Object.entries(slots(node.resource_usage))) sum[slot] = (sum[slot] ?? 0) + num(value);
      kernels.sums.set(node.kernel_id, sum);
    }
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  return kernels;
}

export function kernelsOf(asked: Asked, signal: AbortSignal): Promise<Kernels> {
  return summed(async (after) => (await request(RECORDS, { ...asked, after }, signal)).usage_records);
}
