// The warnings that the server answers a write with stand beside what was saved until a person closes them or writes something else.
import type { Locator, Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { adminKey, graphql, person, shutDown } from "./browser.ts";
import { weightOf } from "./configured.ts";
import { inSight } from "./sight.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

const warnings = (page: Page): Locator => page.getByRole("region", { name: "Warnings of the last change" });
const bar = (page: Page): Locator => page.getByRole("region", { name: "Changes that are not saved" });
const TOO_LONG = "the half-life of 100 days is longer than the look-back of 28 days";

async function saveHalfLife(page: Page, days: string): Promise<void> {
  await page.getByLabel("Half-life, days").fill(days);
  await bar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText(`The settings of ${GROUP} are saved.`).waitFor();
}

it("warnings of settings, weights and undos stand on every page until they are closed or something else is written", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const weight = await weightOf("education");
  await goto(`${GROUP}/settings`);
  await saveHalfLife(page, "100");
  await warnings(page).getByText(TOO_LONG).waitFor();
  expect(await warnings(page).textContent()).toContain("half_life_exceeds_lookback at /scheduler_opts/half_life_days");
  expect(await inSight(warnings(page))).toBe(true);

  // Another page keeps them, and a draft does not cover them.
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Shares" }).click();
  await page.getByLabel("Weight of domain education").fill("0.75");
  await bar(page).getByText("See all of it").waitFor();
  expect(await inSight(warnings(page))).toBe(true);
  expect(await inSight(bar(page).getByRole("button", { name: "Save" }))).toBe(true);

  // A weight is answered with what looks like a mistake in its group, and so is its undo.
  await bar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: education").waitFor();
  await warnings(page).getByText(TOO_LONG).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("It is undone.").waitFor();
  await warnings(page).getByText(TOO_LONG).waitFor();
  expect(await weightOf("education")).toBe(weight);
  await page.getByRole("button", { name: "Close", exact: true }).click();
  expect(await warnings(page).count()).toBe(0);

  // The undo of what was put right, from the audit log.
  await goto(`${GROUP}/settings`);
  await saveHalfLife(page, "");
  expect(await warnings(page).count()).toBe(0);
  await goto(`${GROUP}/audit?action=configuration.apply`);
  await page.getByRole("button", { name: /^Undo / }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo it" }).click();
  await page.getByText("The change is undone.").waitFor();
  await warnings(page).getByText(TOO_LONG).waitFor();
  await graphql(`mutation { update_scheduler_options(resource_group: "${GROUP}", scheduler_opts: "{\\"half_life_days\\": null}") { name } }`);
  expect(complaints).toEqual([]);
  await leave();
});

it("warnings of queues name the queue, also where a scenario changes it", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/queues`);
  await page.getByRole("button", { name: "Edit queue education" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Quota of CUDA GPUs").fill("1");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The queue education is saved.").waitFor();
  const above = warnings(page).getByRole("listitem").filter({ hasText: "children_quota_above_parent" });
  expect(await above.textContent()).toContain("education: The children's quotas add up to more than the quota of 1 CUDA GPU.");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("It is undone.").waitFor();
  expect(await warnings(page).count()).toBe(0);

  await goto(`${GROUP}/whatif`);
  await page.getByRole("button", { name: "Change a queue" }).click();
  await page.getByLabel("Name of the queue").fill("education");
  await page.getByLabel("Quota of CUDA GPUs").fill("2");
  await page.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/).waitFor();
  await page.getByRole("button", { name: "Apply exactly this" }).click();
  await page.getByText("Applied.").waitFor();
  await above.waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("It is undone.").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});
