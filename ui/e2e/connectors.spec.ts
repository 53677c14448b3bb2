// The page of connectors, before and after a round of one.
import { afterAll, expect, it } from "vitest";
import { adminKey, address, graphql, person, shutDown } from "./browser.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

async function send<T>(method: string, path: string, body: unknown): Promise<T> {
  const headers = { Authorization: `Bearer ${adminKey()}`, "Content-Type": "application/json" };
  const answer = await fetch(`${address()}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

interface Sequence {
  agreement: { compared: number; same_place: number; kendall_tau: number | null };
}

it("both orders stand side by side once a connector has compared them", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const before = await graphql<{ connectors: unknown[] }>("{ connectors { cluster } }");
  // A test that is tried once more finds its own connector.
  if (before.connectors.length === 0) {
    await goto(`${GROUP}/connectors`);
    await page.getByText("No connector has reported a round").waitFor();
    await page.getByText("No orders were compared yet").waitFor();
  }

  // Users without usage start in the order in which they were submitted, which the other scheduler has the other way round.
  const workloads = ["11", "12", "13"].map((id, at) => ({ workload_id: id, user: `newcomer-${id}`, project: "newcomers", submitted_at: `2026-01-13T10:0${at}:00Z` }));
  const order = { workloads, current_order: ["13", "12", "11"] };
  const { agreement } = await send<Sequence>("POST", `/resource-groups/${GROUP}/sequence`, order);
  expect(agreement).toMatchObject({ compared: 3, same_place: 1, kendall_tau: -1 });
  const errors = [{ code: "write_denied", detail: "scontrol: Access/permission denied" }];
  const { compared, same_place, kendall_tau } = agreement;
  await send("PUT", "/connectors/linux", { resource_group: GROUP, kind: "slurm", version: "0.2.0", mode: "shadow", pending: 7, compared, same_place, kendall_tau, errors });

  await goto(`${GROUP}/connectors`);
  const connectors = page.getByRole("table", { name: "Connectors and their last rounds" });
  await connectors.getByText("1 of 3").waitFor();
  expect(await connectors.getByText("write_denied").count()).toBe(1);
  const places = page.getByRole("table", { name: "The first places of both orders" });
  expect(await places.getByRole("row").count()).toBe(4);
  const first = places.getByRole("row").nth(1);
  expect(await first.textContent()).toMatch(/^111newcomer-11 in newcomers13newcomer-13 in newcomers\+2$/);
  const owners = page.getByRole("table", { name: "Places gained by owner, the most first" });
  expect(await owners.getByRole("row").nth(1).textContent()).toBe("newcomer-11newcomers+2");
  expect(await page.getByRole("table", { name: "Compared rounds by day" }).getByRole("row").count()).toBe(2);
  expect(complaints).toEqual([]);
  await leave();
});
