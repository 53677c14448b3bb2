// The order of pending work is one, wherever it is shown.
import { afterAll, expect, it } from "vitest";
import { adminKey, graphql, person, shutDown } from "./browser.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

const places = (cells: string[]): number[] => cells.map(Number);

it("what would be another order begins with the one that the page of pending work shows", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/pending`);
  const rows = page.getByRole("table", { name: "What waits, the next first" }).locator("tbody tr");
  const shown = new Map<string, number>();
  for (const row of await rows.all()) shown.set((await row.locator("td.mono").getAttribute("title")) ?? "", Number(await row.locator("td").first().textContent()));
  expect(shown.size).toBeGreaterThan(2);

  const scenario = { options: { scheduler: "lifo" } };
  await goto(`${GROUP}/whatif?s=${Buffer.from(JSON.stringify(scenario)).toString("base64url")}`);
  const table = page.getByRole("table", { name: "The order of pending work" });
  await table.waitFor();
  const pending = new Map<string, number>();
  for (const row of await table.locator("tbody tr").all()) pending.set((await row.locator("td.mono").getAttribute("title")) ?? "", Number(await row.locator("td").nth(1).textContent()));
  expect(pending.size).toBeGreaterThan(2);
  for (const [id, position] of pending) expect(shown.get(id), id).toBe(position);

  // The last one that became known is the first of those that lifo starts.
  const { workloads } = await graphql<{ workloads: { edges: { node: { workload_id: string; known_order: number; priority: number } }[] } }>(
    `{ workloads(resource_group: "${GROUP}", first: 1000) { edges { node { workload_id known_order priority } } } }`,
  );
  const last = workloads.edges.map((edge) => edge.node).toSorted((a, b) => b.priority - a.priority || b.known_order - a.known_order)[0];
  expect(await table.locator("tbody tr").first().locator("td.mono").getAttribute("title")).toBe(last?.workload_id);
  expect(places(await table.locator("tbody tr td:first-child").allTextContents())).toEqual([...pending.keys()].map((_, at) => at + 1));
  expect(complaints).toEqual([]);
  await leave();
});
