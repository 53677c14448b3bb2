// Shares on a phone, and what a past day of them has in common with now.
import { afterAll, expect, it } from "vitest";
import { adminKey, graphql, person, shutDown } from "./browser.ts";
import { daysAgo, GROUP } from "./pages.ts";

afterAll(shutDown);


it("on a phone every column of shares is seen without scrolling", async () => {
  const { page, complaints, goto, leave } = await person(adminKey(), { width: 390, height: 844, theme: "light" });
  await goto(`${GROUP}/shares?open=domain%3Aresearch`);
  await page.getByLabel(/^Weight of project/).first().waitFor();
  const table = page.getByRole("group", { name: "A table that may scroll sideways" });
  expect(await table.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
  const factor = await page.locator("tbody tr").first().locator(".phone-only").textContent();
  expect(factor).toMatch(/^[01]/);
  expect(complaints).toEqual([]);
  await leave();
});

it("a weight that is none is refused in words, and cannot be saved", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Weight of domain research").fill("2,5");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText("research: A weight is a number with at most 4 decimals").waitFor();
  expect(await bar.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  const cell = (name: string) => page.getByLabel(`Weight of domain ${name}`).locator("..");
  expect([await cell("industry").textContent(), await cell("education").textContent()]).toEqual(["default", ""]);
  await leave();
});

it("a person who chooses another group sees the same there", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/entity/domain/research`);
  await page.getByLabel("Resource group").selectOption("cpu-farm");
  await page.waitForURL(/cpu-farm\/entity\/domain\/research/);
  await page.getByRole("heading", { name: "research", exact: true }).waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("bars of tiers say what fills them", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByRole("columnheader", { name: "full bar: domain 100 %, project 50 %, user 25 %" }).waitFor();
  await goto(`${GROUP}/shares?view=user`);
  await page.getByRole("columnheader", { name: "full bar: 25 %" }).waitFor();
  await leave();
});

it("in the tree a name is searched among domains, projects and users, now and in a past day", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  for (const at of ["", `&at=${daysAgo(3)}`]) {
    await goto(`${GROUP}/shares?q=ISI${at}`);
    const row = page.getByRole("row", { name: /^vision/ });
    await row.getByText("project").waitFor();
    await goto(`${GROUP}/shares?q=resea${at}`);
    await page.getByRole("row", { name: /^research/ }).getByText("domain", { exact: true }).waitFor();
    expect(await page.getByText("Nothing is called like this").count()).toBe(0);
    await goto(`${GROUP}/shares?q=amelia${at}`);
    await page.getByRole("row", { name: /^amelia/ }).first().waitFor();
  }
  await goto(`${GROUP}/shares?q=vision`);
  await page.getByLabel("Weight of project vision").fill("3");
  await page.getByText("1 weight changed").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("names are searched in a past day, and its ranking is copied", async () => {
  const day = daysAgo(3);
  const answer = await graphql<{ fair_share_history: { edges: { node: { user_name: string } }[] } }>(
    `{ fair_share_history(resource_group: "${GROUP}", tier: USER, from: "${day}", to: "${day}", order: RANK, first: 1000) { edges { node { user_name } } } }`,
  );
  const wanted = answer.fair_share_history.edges.map((edge) => edge.node.user_name).filter((name) => name.includes("am"));
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares?at=${day}`);
  await page.getByLabel("Search by name").fill("AM");
  await expect.poll(() => page.locator("tbody th a").allTextContents()).toEqual(wanted);
  await page.getByLabel("Search by name").fill("nobody at all");
  await page.getByText("Nothing is called like this").waitFor();
  expect(await page.getByRole("button", { name: /Copy as/ }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await leave();
});
