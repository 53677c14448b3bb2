import { expect, it } from "vitest";
import { readAll } from "./pages.ts";

const ALL = [1, 2, 3, 4, 5, 6, 7];

async function page(after: string | null) {
  const from = Number(after ?? 0);
  const edges = ALL.slice(from, from + 3).map((node) => ({ node }));
  return { count: ALL.length, pageInfo: { hasNextPage: from + 3 < ALL.length, endCursor: String(from + edges.length) }, edges };
}

it("reads a list to its end", async () => {
  expect(await readAll(page, 20)).toEqual({ nodes: ALL, count: 7 });
});

it("stops after the largest number of pages, and says how many there are", async () => {
  expect(await readAll(page, 2)).toEqual({ nodes: [1, 2, 3, 4, 5, 6], count: 7 });
});
