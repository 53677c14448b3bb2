// Whole tasks with the keyboard and nothing else: no test here moves the focus but by keys.
import type { Locator, Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { adminKey, person, shutDown } from "./browser.ts";
import { setOrder, weightOf } from "./configured.ts";
import { GROUP } from "./pages.ts";
import { inSight } from "./sight.ts";

afterAll(shutDown);

/** Nobody presses Tab more often than this for the next step of a task. */
const MOST_TABS = 60;

const hasFocus = (target: Locator): Promise<boolean> => target.evaluate((element) => element === document.activeElement);

/** Presses Tab until `target` has the focus, which has to be seen. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    await page.keyboard.press("Tab");
    if (!(await hasFocus(target))) continue;
    const outline = await target.evaluate((element) => getComputedStyle(element).outlineStyle);
    expect(outline, String(target)).not.toBe("none");
    return;
  }
  throw new Error(`${MOST_TABS} Tabs do not lead to ${target}`);
}

it("a domain's weight is raised, explained, saved and taken back by keys alone", async () => {
  // The server warns of this order, because domains have different weights.
  await setOrder("flat");
  const { page, complaints, goto, leave } = await person(adminKey());
  const before = await weightOf("research");
  await goto(`${GROUP}/shares`);
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to the page" });
  expect(await hasFocus(skip)).toBe(true);
  expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
  await page.keyboard.press("Enter");
  await expect.poll(() => hasFocus(page.locator("#main"))).toBe(true);
  expect(new URL(page.url()).pathname).toMatch(/\/shares$/);

  const field = page.getByLabel("Weight of domain research");
  await tabTo(page, field);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("20");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText("1 weight changed").waitFor();
  await bar.getByText("users would rise").waitFor();
  // The field is still seen, and so is the way on; what is known already takes no room.
  expect(await hasFocus(field)).toBe(true);
  await expect.poll(() => inSight(field)).toBe(true);
  expect(await inSight(bar.getByRole("button", { name: "Save" }))).toBe(true);
  await expect.poll(() => bar.getByText("different weights").count()).toBe(0);
  const whole = bar.getByRole("button", { name: "See all of it" });
  await tabTo(page, whole);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").locator("svg.slope").waitFor();
  await page.getByRole("dialog").getByText("different weights").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await hasFocus(whole)).toBe(true);
  await tabTo(page, bar.getByLabel("Reason, for the audit log"));
  await page.keyboard.type("a grant");
  await tabTo(page, bar.getByRole("button", { name: "Save" }));
  await page.keyboard.press("Enter");
  await page.getByText("Saved: research").waitFor();
  expect(await weightOf("research")).toBe("20");
  await tabTo(page, page.getByRole("button", { name: "Undo" }));
  await page.keyboard.press("Enter");
  await expect.poll(() => weightOf("research")).toBe(before);
  await setOrder("tiered");
  expect(complaints).toEqual([]);
  await leave();
});

it("what one types in stays in sight in a low window, and the page stays where it is while a reason is typed", async () => {
  const { page, complaints, goto, leave } = await person(adminKey(), { width: 1280, height: 720, theme: "light" });
  await goto(`${GROUP}/settings`);
  const field = page.getByLabel("Half-life, days");
  await tabTo(page, field);
  await page.keyboard.type("21");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  const save = bar.getByRole("button", { name: "Save" });
  await bar.getByText("would rise").waitFor();
  await expect.poll(() => inSight(field)).toBe(true);
  expect(await inSight(save)).toBe(true);
  // The next fields are scrolled to above the bar as well.
  for (const label of ["Look-back, days", "Bucket length, days", "Weight of Memory"]) {
    await tabTo(page, page.getByLabel(label));
    expect(await inSight(page.getByLabel(label)), label).toBe(true);
  }
  await tabTo(page, bar.getByLabel("Reason, for the audit log"));
  const scrolled = () => page.evaluate(() => scrollY);
  const before = await scrolled();
  await page.keyboard.type("a reason");
  expect(await scrolled()).toBe(before);
  await tabTo(page, bar.getByRole("button", { name: "Discard" }));
  expect(await scrolled()).toBe(before);
  await page.keyboard.press("Enter");
  await bar.waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
  await leave();
});

it("Ctrl K leads to whomever a name means, and Escape leads back to where one was", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  const search = page.getByLabel("Search by name");
  await tabTo(page, search);
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "Go to a page, a domain, a project or a user" });
  await dialog.waitFor();
  const name = dialog.getByLabel("Name");
  await expect.poll(() => hasFocus(name)).toBe(true);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await hasFocus(search)).toBe(true);

  await page.keyboard.press("Control+k");
  await page.keyboard.type("queu");
  await dialog.getByRole("button", { name: "Queues" }).waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("amelia");
  await dialog.getByRole("button", { name: /^amelia in / }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "amelia" }).waitFor();
  expect(new URL(page.url()).pathname).toContain(`/${GROUP}/entity/user/`);
  await dialog.waitFor({ state: "detached" });

  for (const [typed, called, tier] of [["resea", "domain research", "domain"], ["visio", "project vision", "project"]] as const) {
    await page.keyboard.press("Control+k");
    await expect.poll(() => hasFocus(name)).toBe(true);
    await page.keyboard.type(typed);
    await dialog.getByRole("button", { name: called, exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/${GROUP}/entity/${tier}/`));
    await dialog.waitFor({ state: "detached" });
  }
  expect(complaints).toEqual([]);
  await leave();
});
