// On a phone nothing that one reads or presses is beside the screen.
import { afterAll, expect, it } from "vitest";
import { adminKey, person, shutDown } from "./browser.ts";
import { everyPage, GROUP } from "./pages.ts";

const PHONE = { width: 390, height: 844, theme: "light" } as const;

afterAll(shutDown);

it("tables have all of their columns on the screen, with the names of the columns beside the values", async () => {
  const { page, goto, complaints, leave } = await person(adminKey(), PHONE);
  for (const [name, path] of await everyPage()) {
    await goto(path);
    const wide = await page.locator(".scroll").evaluateAll((all) => all.filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1).map((one) => one.querySelector("caption")?.textContent));
    expect(wide, name).toEqual([]);
  }
  await goto(`${GROUP}/audit?action=weights.put`);
  const undo = page.getByRole("button", { name: /^Undo Weights/ }).first();
  const box = await undo.boundingBox();
  expect(box && box.x >= 0 && box.x + box.width <= PHONE.width).toBe(true);
  expect(await page.locator("td[data-label=Change]").first().evaluate((cell) => getComputedStyle(cell, "::before").content)).toBe('"Change"');
  expect(complaints).toEqual([]);
  await leave();
});
