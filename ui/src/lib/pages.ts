// Lists that are read to their end, a page at a time.

export interface Connection<N> {
  count: number;
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  edges: { node: N }[];
}

export interface Read<N> {
  /** The rows that were read, of `count` that there are. */
  nodes: N[];
  count: number;
}

/** Reads the answers of `page`, one page after the other, up to a largest number of pages. */
export async function readAll<N>(page: (after: string | null) => Promise<Connection<N>>, mostPages: number): Promise<Read<N>> {
  const all: Read<N> = { nodes: [], count: 0 };
  let after: string | null = null;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const { count, pageInfo, edges } = await page(after);
    all.count = count;
    all.nodes.push(...edges.map((edge) => edge.node));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  return all;
}
