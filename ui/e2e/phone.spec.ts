// On a phone nothing that one reads or presses is beside the screen.
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { adminKey, person, shutDown } from "./browser.ts";
import { daysAgo, everyPage, GROUP } from "./pages.ts";
import { inSight } from "./sight.ts";

const PHONE = { width: 390, height: 844, theme: "light" } as const;

afterAll(shutDown);

/** The tables of this page that are wider than their place on the screen. */
const tooWide = (page: Page) =>
  page.locator(".scroll").evaluateAll((all) => all.filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1).map((one) => one.querySelector("caption")?.textContent));

/** The cells of shares that have more in them than fits. */
const overfull = (page: Page) =>
  page.locator("table.dense th, table.dense td").evaluateAll((cells) => cells.filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent));

/** From here on the server's answers have factors and weights with as many digits, and names of people and projects as long, as there can be. */
async function lengthen(page: Page): Promise<void> {
  const longest = (key: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    if (key.endsWith("factor")) return "0.99999999999712345";
    if (key.endsWith("weight")) return "123456789.123456789";
    if (/^(user|project)_name$/.test(key)) return value.padEnd(60, "x");
    return value;
  };
  await page.route("**/graphql", async (route) => {
    // A page that is left gives up what it has asked for.
    const response = await route.fetch().catch(() => null);
    const text = await response?.text().catch(() => null);
    if (response && text) await route.fulfill({ response, body: JSON.stringify(JSON.parse(text, longest)) }).catch(() => {});
  });
}

it("tables have all of their columns on the screen, with the names of the columns beside the values", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  for (const [name, path] of await everyPage()) {
    await goto(path);
    expect(await tooWide(page), name).toEqual([]);
  }
  await goto(`${GROUP}/audit?action=weights.put`);
  const undo = page.getByRole("button", { name: /^Undo Weights/ }).first();
  const box = await undo.boundingBox();
  expect(box && box.x >= 0 && box.x + box.width <= PHONE.width).toBe(true);
  expect(await page.locator("td[data-label=Change]").first().evaluate((cell) => getComputedStyle(cell, "::before").content)).toBe('"Change"');
  expect(complaints).toEqual([]);
  await leave();
});

it("shares stay on the screen, however long names, factors and weights are", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  await lengthen(page);
  for (const view of ["open=domain%3Aresearch", "view=domain", "view=project", "view=user", "q=re"]) {
    for (const at of ["", `&at=${daysAgo(3)}`]) {
      await goto(`${GROUP}/shares?${view}${at}`);
      await page.getByText("0.999999999997").first().waitFor();
      expect(await tooWide(page), view + at).toEqual([]);
      await page.getByText("Loading…").waitFor({ state: "detached" });
      expect(await overfull(page), view + at).toEqual([]);
    }
  }
  expect(complaints).toEqual([]);
  await leave();
});

it("columns of shares do not move while a domain's projects are loaded", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  await page.route("**/graphql", (route) => (route.request().postData()?.includes("project_fair_shares") ? undefined : route.continue()));
  await goto(`${GROUP}/shares?open=domain%3Aresearch`);
  await page.getByText("Loading…").waitFor();
  expect(await overfull(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await leave();
});

it("the field that is edited is not covered by what it would change, and Save is on the screen", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  for (const [path, label, value] of [["shares", "Weight of domain research", "20"], ["settings", "Half-life, days", "21"]] as const) {
    await goto(`${GROUP}/${path}`);
    const field = page.getByLabel(label);
    await field.fill(value);
    const bar = page.getByRole("region", { name: "Changes that are not saved" });
    await bar.getByText("would rise").waitFor();
    await expect.poll(() => inSight(field), { message: label }).toBe(true);
    expect(await inSight(bar.getByRole("button", { name: "Save" })), label).toBe(true);
    expect(await inSight(bar.getByRole("button", { name: "Discard" })), label).toBe(true);
    const height = (await bar.boundingBox())?.height;
    expect(height, label).toBeLessThanOrEqual(0.4 * PHONE.height + 1);
    await bar.getByRole("button", { name: "Discard" }).click();
    await bar.waitFor({ state: "detached" });
  }
  expect(complaints).toEqual([]);
  await leave();
});

it("the kernels of a day have the width of the screen", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  await goto(`${GROUP}/explain/domain/research`);
  await page.getByText("Every day with its decay, and its kernels").click();
  // The last whole day: there were kernels.
  const day = page.locator("details tbody tr").nth(1);
  await day.locator("summary").click();
  await day.locator("details .mono").first().waitFor();
  expect((await day.locator("details").boundingBox())?.width).toBeGreaterThanOrEqual(250);
  expect(await tooWide(page)).toEqual([]);
  const outside = await day.locator("th, td, td *").evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().left < 0 || one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent));
  expect(outside).toEqual([]);
  expect(complaints).toEqual([]);
  await leave();
});

it("Ctrl K opens the palette on a narrow window, too, and Escape leads back", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  await goto(`${GROUP}/shares`);
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "Go to a page, a domain, a project or a user" });
  await dialog.getByLabel("Name").fill("queues");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  await page.keyboard.press("Control+k");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  // The page can be pressed again.
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: "Go to…" }).click();
  await dialog.waitFor();
  expect(complaints).toEqual([]);
  await leave();
});
