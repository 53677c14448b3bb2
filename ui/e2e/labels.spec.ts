// Pages say what their marks, bars, fields and rows stand for.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, graphql, person, type Person, settled, shutDown } from "./browser.ts";
import { daysAgo, GROUP } from "./pages.ts";

let admin: Person;
beforeAll(async () => {
  admin = await person(adminKey());
});
afterAll(async () => {
  expect(admin.complaints).toEqual([]);
  await shutDown();
});

const before = daysAgo(3);

describe("a page", () => {
  it("names keys by id and day, also before one is revoked", async () => {
    const { page, goto } = admin;
    await graphql(`mutation { create_key(role: VIEWER, label: "twin") { key } }`);
    await graphql(`mutation { create_key(role: VIEWER, label: "twin") { key } }`);
    await goto(`${GROUP}/keys`);
    expect(await page.getByRole("columnheader").allTextContents()).toEqual(["Label and id", "Role", "Reaches", "Made", "Last used", "Ends", "Change"]);
    const twins = await page.getByRole("rowheader", { name: /^twin/ }).allTextContents();
    expect(new Set(twins).size).toBe(2);
    const id = /…[0-9a-f]{8}$/.exec(twins[0] ?? "")?.[0] ?? "";
    await page.getByRole("button", { name: `Revoke twin, ${id}` }).click();
    await page.getByRole("dialog").getByText(`The key ${id} was made`).waitFor();
    await page.keyboard.press("Escape");
  });

  it("shows the present weight beside the one that is tried", async () => {
    const { page, goto } = admin;
    await goto(`${GROUP}/whatif`);
    await page.getByRole("button", { name: "Add a weight" }).click();
    await page.getByLabel("Name of the domain").fill("industry");
    await page.getByText("Now 1, the default.").waitFor();
    await page.getByLabel("Name of the domain").fill("nobody");
    await page.getByText("No domain of this name is known.").waitFor();
  });

  it("edits maps of options as fields, with a preview in words", async () => {
    const { page, goto } = admin;
    await goto(`${GROUP}/settings`);
    const weights = page.getByRole("table", { name: "Weights of slots" });
    expect(await weights.getByRole("rowheader").allTextContents()).toEqual(["CUDA GPUs", "CPU", "Memory"]);
    await weights.getByLabel("Weight of CPU").fill("");
    await page.getByLabel("Algorithm").selectOption("min_share");
    await page.getByLabel("Rule of smallest shares").selectOption("on_top");
    expect(await page.getByLabel("Over quota by").count()).toBe(0);
    const bar = page.getByRole("region", { name: "Changes that are not saved" });
    await bar.getByText("Weights of slots: CUDA GPUs 1, CPU 0.25, Memory 0.1 → CUDA GPUs 1, Memory 0.1").waitFor();
    await bar.getByText("Division: default → algorithm min_share, rule on_top").waitFor();
    await bar.getByRole("button", { name: "Save" }).click();
    await page.getByText(`The settings of ${GROUP} are saved.`).waitFor();
    const { resource_group } = await graphql<{ resource_group: { configured_scheduler_opts: string } }>(`{ resource_group(name: "${GROUP}") { configured_scheduler_opts } }`);
    const { resource_weights, division } = JSON.parse(resource_group.configured_scheduler_opts) as Record<string, unknown>;
    expect([resource_weights, division]).toEqual([{ "cuda.device": "1", mem: "0.1" }, { algorithm: "min_share", options: { rule: "on_top" } }]);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => weights.getByLabel("Weight of CPU").inputValue()).toBe("0.25");
  });

  it("says how long a full bar is, and in which unit figures are", async () => {
    const { page, goto } = admin;
    await goto(`${GROUP}/overview`);
    await page.getByText(/^\d+ %|of all that was used$/).first().waitFor();
    await page.getByText(/A full bar is the capacity/).waitFor();
    await goto(`${GROUP}/fairness`);
    await page.getByText(/^full bar: \d+ %$/).waitFor();
    await page.getByText(/[+−]\d+\.\d pp/).first().waitFor();
    await goto(`${GROUP}/queues`);
    await page.getByText(/^A full bar is \d+ GPUs, /).waitFor();
    await page.getByText("Why?").first().click();
    await page.getByText(/gets \d+ of 88 CUDA GPUs/).first().waitFor();
    expect(await page.getByText("cuda.device").count()).toBe(0);
  });

  it("explains the letters in charts", async () => {
    const { page, goto } = admin;
    await goto(`${GROUP}/entity/domain/research`);
    await page.getByText("a gap in recording").first().waitFor();
  });

  it("has ranks of a past day among how many, with their movement", async () => {
    const { page, goto } = admin;
    // Not all domains of today were there on that day.
    const then = await graphql<{ fair_share_history: { count: number } }>(
      `{ fair_share_history(resource_group: "${GROUP}", tier: DOMAIN, from: "${before}", to: "${before}") { count } }`,
    );
    await goto(`${GROUP}/entity/domain/research?at=${before}`);
    await page.locator(".figures").getByText(`of ${then.fair_share_history.count}`).first().waitFor();
    await goto(`${GROUP}/shares?view=user&at=${before}`);
    await expect.poll(() => page.locator("tbody tr").first().locator("td").first().textContent()).toMatch(/^1 of \d+/);
    await expect.poll(() => page.locator(".moved").count()).toBeGreaterThan(0);
  });

  it("marks who is archived where they are still shown", async () => {
    const { page, goto } = admin;
    const archive = (is: boolean) => graphql(`mutation { upsert_domain(name: "industry", archived: ${is}) { name } }`);
    await archive(true);
    try {
      await goto(`${GROUP}/entity/domain/industry`);
      await page.getByRole("heading", { level: 1 }).getByText("archived").waitFor();
      await goto(`${GROUP}/explain/domain/industry`);
      await page.getByRole("heading", { level: 1 }).getByText("archived").waitFor();
      await goto(`${GROUP}/shares?view=domain&at=${before}`);
      await settled(page);
      for (const row of await page.getByRole("row", { name: /industry/ }).allTextContents()) expect(row).toContain("archived");
    } finally {
      await archive(false);
    }
  });
});
