// The page of workloads that wait, with the reasons why they cannot start, and of the slots that are held and free.
import { afterAll, expect, it } from "vitest";
import { person, settled, shutDown } from "./browser.ts";
import { emptyServer } from "./server.ts";

afterAll(shutDown);

const uuid = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;

/** A kernel of alice. */
const kernel = (at: number, more: object) => ({
  kernel_id: uuid(at), session_id: uuid(1000 + at), user: "alice", project: "vision", domain_name: "research", status: "PENDING", occupied_slots: { "cuda.device": 1 }, ...more,
});

it("what waits is shown by workload with its reason in numbers, gangs unfold, and what is held is summed", async () => {
  const server = await emptyServer();
  try {
    const send = async (method: string, path: string, body: unknown) => {
      const headers = { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" };
      const answer = await fetch(`${server.address}/resource-groups/lab${path}`, { method, headers, body: JSON.stringify(body) });
      expect(answer.ok, `${method} ${path}: ${await answer.text()}`).toBe(true);
    };
    await send("PUT", "", {});
    await send("PUT", "/agents/n1", { available_slots: { "cuda.device": 8 } });
    const gang = { gang_id: "training", gang_min: 2, submitted_at: "2026-01-13T09:00:00Z" };
    const runs = { status: "RUNNING", started_at: new Date(Date.now() - 60_000).toISOString(), agent_id: "n1" };
    await send("POST", "/kernels", [
      kernel(1, gang), kernel(2, gang), kernel(3, { occupied_slots: { "cuda.device": 9 } }), kernel(4, { ...runs, user: "bob", occupied_slots: { "cuda.device": 2 } }),
    ]);

    const { page, complaints, goto, leave } = await person(server.key, undefined, server.address);
    await goto("lab/pending");
    const table = page.getByRole("table", { name: "What waits, the next first" });
    const rows = table.locator("tbody tr");
    expect(await rows.count()).toBe(2);
    const first = rows.first();
    expect(await first.locator("td").first().textContent()).toBe("1");
    expect(await first.textContent()).toContain("training");
    expect(await first.textContent()).toContain("pending");
    expect(await first.textContent()).toContain("2 kernels");
    expect(await first.textContent()).toContain("2 CUDA GPUs");
    expect(await first.locator("time").getAttribute("datetime")).toBe("2026-01-13T09:00:00Z");
    const never = rows.nth(1);
    expect(await never.locator("td").first().textContent()).toBe("–");
    expect(await never.textContent()).toContain("It asks for 9 CUDA GPUs, and can never start: a node has 8 CUDA GPUs at most.");

    await first.getByRole("button", { name: "More about training" }).click();
    const members = page.getByRole("list", { name: "Kernels of training" });
    await members.waitFor();
    expect(await members.locator("li").allTextContents()).toEqual([uuid(1), uuid(2)]);
    await page.getByText("2 of them start together.").waitFor();
    await page.getByLabel("Priority", { exact: true }).fill("high");
    await page.getByRole("alert").getByText("A priority is a whole number.").waitFor();
    await page.getByLabel("Priority", { exact: true }).fill("5");
    await page.getByLabel("It asks for", { exact: true }).selectOption("0.5");
    await page.getByRole("button", { name: "Try it" }).click();
    await page.getByRole("status").getByText("It would start now on n1.").waitFor();
    await first.getByRole("button", { name: "More about training" }).click();
    await members.waitFor({ state: "detached" });

    const held = page.getByRole("table", { name: "What is held now, the largest share first" });
    expect(await held.locator("tbody tr").first().textContent()).toContain("bob");
    expect(await held.locator("tbody tr").first().textContent()).toContain("25.0 %");
    await page.getByText("Held: 2 CUDA GPUs. Free: 6 CUDA GPUs.").waitFor();
    await page.getByLabel("By", { exact: true }).selectOption("agent");
    await held.getByText("n1").waitFor();
    await settled(page);
    expect(page.url()).toContain("by=agent");
    expect(await held.locator("tbody tr").first().textContent()).toContain("6 CUDA GPUs");
    expect(complaints).toEqual([]);
    await leave();
  } finally {
    server.stop();
  }
});

it("a workload says when it starts, and what would let it start earlier", async () => {
  const server = await emptyServer();
  try {
    const send = async (method: string, path: string, body: unknown) => {
      const headers = { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" };
      const answer = await fetch(`${server.address}${path}`, { method, headers, body: JSON.stringify(body) });
      expect(answer.ok, `${method} ${path}: ${await answer.text()}`).toBe(true);
    };
    const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
    await send("PUT", "/resource-groups/lab", {});
    await send("PUT", "/resource-groups/lab/agents/n1", { available_slots: { "cuda.device": 8 } });
    const all = { occupied_slots: { "cuda.device": 8 }, agent_id: "n1" };
    const ran = (at: number) => kernel(100 + at, { ...all, status: "TERMINATED", submitted_at: hours(-5 * at - 10), started_at: hours(-5 * at - 10), terminated_at: hours(-5 * at - 6) });
    await send("POST", "/resource-groups/lab/kernels", [
      ...Array.from({ length: 12 }, (_, at) => ran(at)),
      kernel(1, { ...all, status: "RUNNING", started_at: hours(-1), submitted_at: hours(-1), occupied_slots: { "cuda.device": 4 } }),
      kernel(2, { gang_id: "training", submitted_at: hours(-0.5), occupied_slots: { "cuda.device": 8 } }),
    ]);
    await send("POST", "/jobs/forecast/run", { resource_group: "lab" });

    const { page, complaints, goto, leave } = await person(server.key, undefined, server.address);
    await goto("lab/pending");
    const row = page.getByRole("table", { name: "What waits, the next first" }).locator("tbody tr").first();
    expect(await row.textContent()).toMatch(/in \d\.\d h( \([^)]+ to [^)]+\))?, as of \d\d:\d\d UTC/);
    await page.getByText("no start yet").waitFor();
    await row.getByRole("button", { name: "More about training" }).click();
    await page.getByRole("button", { name: "What would help?" }).click();
    const helps = page.getByRole("list", { name: "What would help training" });
    await helps.getByText("With half of what it asks for: now").waitFor();
    expect(await helps.locator("li").count()).toBe(1);
    expect(complaints).toEqual([]);
    await leave();
  } finally {
    server.stop();
  }
});
