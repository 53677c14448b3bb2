// A hundred thousand users in one group: the ranking changes pages, and typing blocks nothing. Figures are printed, since they are the machine's.
import { afterAll, expect, it } from "vitest";
import { figure, person, settled, shutDown } from "./browser.ts";
import { emptyServer } from "./server.ts";

const USERS = 100_000;
const PARTS = 4;
const PROJECTS = 80;

afterAll(shutDown);

/** One kernel of an hour for each of this number of users, as lines of JSON. */
function kernels(from: number, to: number): string {
  const id = (kind: number, number: number): string => `00000000-0000-4000-8${kind}00-${String(number).padStart(12, "0")}`;
  const lines = [];
  for (let at = from; at < to; at++) {
    const project = at % PROJECTS;
    lines.push(
      JSON.stringify({
        kernel_id: id(1, at),
        session_id: id(2, at),
        user_uuid: id(3, at),
        user_name: `user-${String(at).padStart(6, "0")}`,
        project_id: id(4, project),
        project_name: `project-${project}`,
        domain_name: `domain-${project % 10}`,
        occupied_slots: { cpu: String(1 + (at % 16)) },
        status: "TERMINATED",
        started_at: new Date(Date.now() - 7_200_000).toISOString(),
        terminated_at: new Date(Date.now() - 3_600_000 - (at % 3_000) * 1_000).toISOString(),
      }),
    );
  }
  return lines.join("\n");
}

it("a group of a hundred thousand stays usable", async () => {
  const server = await emptyServer();
  try {
    const headers = { Authorization: `Bearer ${server.key}` };
    const asJson = { ...headers, "Content-Type": "application/json" };
    await fetch(`${server.address}/resource-groups/crowd`, { method: "PUT", headers: asJson, body: "{}" });
    await fetch(`${server.address}/resource-groups/crowd/agents/node`, { method: "PUT", headers: asJson, body: JSON.stringify({ available_slots: { cpu: "1000000" } }) });
    for (let part = 0; part < PARTS; part++) {
      const body = kernels((part * USERS) / PARTS, ((part + 1) * USERS) / PARTS);
      const answer = await fetch(`${server.address}/resource-groups/crowd/kernels`, { method: "POST", headers: { ...headers, "Content-Type": "application/x-ndjson" }, body });
      expect(answer.ok, await answer.text()).toBe(true);
    }
    await fetch(`${server.address}/jobs/aggregate/run`, { method: "POST", headers: asJson, body: JSON.stringify({ resource_group: "crowd" }) });

    const { page, complaints, goto, leave } = await person(server.key, undefined, server.address);
    await goto("crowd/shares?view=user");
    await page.getByText(/of 100\u202f000/).first().waitFor();
    await page.evaluate(() => {
      const tasks: number[] = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
      Object.assign(globalThis, { longTasks: tasks });
    });
    const turns = [];
    for (let turn = 0; turn < 10; turn++) {
      const first = await page.locator("tbody tr th").first().textContent();
      turns.push(
        await page.evaluate(async (first) => {
          const began = performance.now();
          [...document.querySelectorAll<HTMLButtonElement>(".pager button")].at(-1)?.click();
          while (document.querySelector("tbody tr th")?.textContent === first) await new Promise(requestAnimationFrame);
          return performance.now() - began;
        }, first),
      );
    }
    await page.getByLabel("Search by name").pressSequentially("user-0999", { delay: 30 });
    await page.getByRole("link", { name: "user-099912" }).waitFor();
    await settled(page);
    const tasks = await page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks);
    const middle = turns.toSorted((a, b) => a - b)[turns.length / 2] ?? 0;
    const longest = Math.max(0, ...tasks);
    figure(`${USERS} users: another page of the ranking in ${middle.toFixed(0)} ms (median of ${turns.length}, ${Math.max(...turns).toFixed(0)} ms at most)`);
    figure(`${USERS} users: the longest task while turning pages and typing took ${longest.toFixed(0)} ms, and ${tasks.filter((task) => task > 200).length} took more than 200 ms`);
    await goto(`crowd/shares?open=${encodeURIComponent("domain:domain-0|project:00000000-0000-4000-8400-000000000000")}`);
    const more = page.getByRole("button", { name: "Show more of 1\u202f250" });
    for (let shown = 100; shown < 1000; shown += 100) {
      await expect.poll(() => page.locator("tbody .indent > .leaf").count()).toBe(shown);
      await more.click();
    }
    await page.getByText("The first 1\u202f000 of 1\u202f250.").waitFor();
    await page.getByRole("link", { name: "The list of users" }).click();
    await page.getByText(/of 100\u202f000/).first().waitFor();
    for (const path of ["crowd/overview", "crowd/shares", "crowd/fairness?tier=USER", "crowd/explain"]) await goto(path);
    expect(complaints).toEqual([]);
    await leave();
  } finally {
    server.stop();
  }
});
