import { expect, it } from "vitest";
import { summed } from "./records.ts";

const RECORDS = Array.from({ length: 7 }, (_, at) => ({ node: { kernel_id: at % 2 === 0 ? "even" : "odd", resource_usage: '{"cpu":"10"}' } }));

/** Pages of three records. */
async function page(after: string | null) {
  const from = Number(after ?? 0);
  const edges = RECORDS.slice(from, from + 3);
  return { count: RECORDS.length, pageInfo: { hasNextPage: from + 3 < RECORDS.length, endCursor: String(from + edges.length) }, edges };
}

it("sums the records of all pages by kernel", async () => {
  const { sums, read, count } = await summed(page);
  expect([...sums]).toEqual([
    ["even", { cpu: 40 }],
    ["odd", { cpu: 30 }],
  ]);
  expect([read, count]).toEqual([7, 7]);
});

it("stops after so many pages, and says how many records it has read", async () => {
  const { read, count } = await summed(page, 2);
  expect([read, count]).toEqual([6, 7]);
});
