// What single pages answer.
import { afterAll, expect, it } from "vitest";
import { keyOf, person, settled, shutDown } from "./browser.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

it("a user who was active finds their own part of the fairness, and the figures of other tiers", async () => {
  const { page, complaints, goto, leave } = await person(await keyOf("USER", "amelia"));
  await goto(`${GROUP}/fairness`);
  const table = page.getByRole("table", { name: /^Used and entitled shares/ });
  await table.getByRole("rowheader", { name: "amelia" }).first().waitFor();
  expect(await page.getByRole("tab", { name: "Users" }).getAttribute("aria-selected")).toBe("true");
  await page.getByRole("tab", { name: "Domains" }).click();
  await page.getByText("Your own part is under “Users”.").waitFor();
  await settled(page);
  expect(page.url()).toContain("tier=DOMAIN");
  expect(await page.getByText("In the wrong hands").count()).toBeGreaterThan(0);
  expect(await table.count()).toBe(0);
  expect(await page.getByText("You were not active").count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});
