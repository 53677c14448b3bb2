// Several people at once: what one changes, the others see without doing anything.
import { afterAll, expect, it } from "vitest";
import { adminKey, person, shutDown } from "./browser.ts";
import { setWeight, weightOf } from "./configured.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

it("a weight that another client changes appears on open pages by itself", async () => {
  const before = await weightOf("education");
  const shares = await person(adminKey());
  const overview = await person(adminKey());
  await shares.goto(`${GROUP}/shares`);
  await overview.goto(`${GROUP}/overview`);
  const loads: string[] = [];
  for (const { page } of [shares, overview]) page.on("load", () => loads.push(page.url()));

  const row = shares.page.locator("tbody tr", { has: shares.page.getByRole("link", { name: "education", exact: true }) });
  const field = row.getByLabel("Weight of domain education");
  const factor = await row.locator("td").nth(1).textContent();
  const line = overview.page.locator("section.card", { hasText: "Domains: used against entitled" }).locator(".stack", { has: overview.page.getByRole("link", { name: "education", exact: true }) });
  // Usage goes on growing meanwhile.
  const entitledNow = async () => /entitled to [\d.]+ %/.exec((await line.textContent()) ?? "")?.[0];
  const entitled = await entitledNow();
  expect(entitled).toBeDefined();
  expect(await field.inputValue()).toBe(before);

  await setWeight("education", "6.5");
  await expect.poll(() => field.inputValue()).toBe("6.5");
  await expect.poll(() => row.locator("td").nth(1).textContent()).not.toBe(factor);
  await expect.poll(entitledNow).not.toBe(entitled);
  await setWeight("education", before);
  await expect.poll(() => field.inputValue()).toBe(before);
  await expect.poll(entitledNow).toBe(entitled);
  expect(loads).toEqual([]);
  expect([...shares.complaints, ...overview.complaints]).toEqual([]);
  await shares.leave();
  await overview.leave();
});

it("without Live a page stays as it was, and follows again with it", async () => {
  const before = await weightOf("education");
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Live").uncheck();
  await setWeight("education", "7.5");
  await page.waitForTimeout(5000);
  const field = page.getByLabel("Weight of domain education");
  expect(await field.inputValue()).toBe(before);
  await page.getByLabel("Live").check();
  await expect.poll(() => field.inputValue()).toBe("7.5");
  await setWeight("education", before);
  await leave();
});
