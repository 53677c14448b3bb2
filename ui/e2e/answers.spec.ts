// What single pages answer: a user's own part, places that there are not, kernels of a day, queues, usage and reports.
import { afterAll, expect, it } from "vitest";
import { adminKey, keyOf, person, settled, shutDown } from "./browser.ts";
import { GROUP, pagesOf } from "./pages.ts";

afterAll(shutDown);

/** The address of somebody's part in their first project, as `user.project`. */
async function memberOf(user: string): Promise<string> {
  const own = (await pagesOf(user)).find(([name]) => name === "mine-entity");
  return own?.[1].split("/").at(-1) ?? "";
}

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

it("a place that nobody can have is refused beside its field, and the page stays", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/explain/user/${await memberOf("zoe")}`);
  const field = page.getByLabel("Which weight leads to place");
  await field.fill("99999");
  await page.getByText(/^There is no place 99999: the places are 1 to \d+\.$/).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect(await page.locator(".waterfall").count()).toBe(1);
  // The address has it, too: whoever opens the link sees the same.
  expect(page.url()).toContain("place=99999");
  await page.reload();
  await page.getByText(/^There is no place 99999/).waitFor();
  await field.fill("1");
  await page.getByText(/leads to place 1\./).waitFor();
  expect(await page.getByText(/^There is no place/).count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

it("days lead to a factor and a place, and users and projects have the kernels of a day", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const member = await memberOf("zoe");
  await goto(`${GROUP}/explain/user/${member}`);
  const steps = await page.locator(".waterfall .then").allTextContents();
  expect(steps.map((step) => step.replace(/[\d.]+.*/, "").trim())).toEqual(["÷ weight", "→ factor", "→ place"]);
  const figure = page.locator(".figures > div", { hasText: /^Factor/ }).locator("dd");
  expect(steps[1]).toContain(await figure.textContent());
  for (const tier of [`user/${member}`, `project/${member.split(".")[1]}`]) {
    await goto(`${GROUP}/explain/${tier}`);
    await page.getByText("Every day with its decay, and its kernels").click();
    // The last whole day: the kernels together used what the day says.
    await page.locator("details details summary").nth(1).click();
    await page.locator("details details .mono").first().waitFor();
    const row = page.locator("details tbody tr").nth(1);
    const day = /([\d.\u202f]+) core-hours/.exec((await row.locator("td").first().textContent()) ?? "")?.[1];
    const kernels = await row.locator("details div").allTextContents();
    const sum = kernels.reduce((all, text) => all + Number((/([\d.\u202f]+) core-hours/.exec(text)?.[1] ?? "0").replaceAll("\u202f", "")), 0);
    expect(kernels.length).toBeGreaterThan(0);
    expect(sum / Number(day?.replaceAll("\u202f", ""))).toBeCloseTo(1, 1);
  }
  await goto(`${GROUP}/explain/domain/research`);
  await page.getByText("Every day with its decay").click();
  await page.getByText("Records are kept of users and projects").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});
