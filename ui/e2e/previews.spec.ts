// Nothing is written before its own preview is there, and every write names the configuration of that preview.
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { adminKey, person, shutDown } from "./browser.ts";
import { halfLife, setWeight, weightOf } from "./configured.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

interface Asked {
  query: string;
  variables: { input: string };
}

/** Previews are answered only once `open` is called, and again not after `close`. */
async function gate(page: Page): Promise<{ open: () => void; close: () => void }> {
  let wait = Promise.resolve();
  let open = () => {};
  const close = () => {
    wait = new Promise((resolve) => (open = resolve));
  };
  close();
  await page.route("**/graphql", async (route) => {
    if ((route.request().postDataJSON() as Asked).query.includes("SimulateShares")) await wait;
    await route.continue().catch(() => {});
  });
  return { open: () => open(), close };
}

/** The inputs of the writes of `page`. */
function writes(page: Page): Record<string, unknown>[] {
  const sent: Record<string, unknown>[] = [];
  page.on("request", (request) => {
    if (!request.url().endsWith("/graphql")) return;
    const { query, variables } = request.postDataJSON() as Asked;
    if (query.includes("ApplyShares")) sent.push(JSON.parse(variables.input) as Record<string, unknown>);
  });
  return sent;
}

it("a weight can be saved once its own preview is there, not while that of another one is", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  const preview = await gate(page);
  const sent = writes(page);
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  const save = bar.getByRole("button", { name: "Save" });
  const field = page.getByLabel("Weight of domain research");
  await field.fill("12");
  await bar.getByText("Calculating what this changes…").waitFor();
  expect(await save.isDisabled()).toBe(true);
  preview.open();
  await bar.getByText("would rise").waitFor();
  expect(await save.isEnabled()).toBe(true);
  expect(await bar.getByText("Calculating").count()).toBe(0);

  preview.close();
  await field.fill("24");
  await bar.getByText("Calculating what this changes…").waitFor();
  expect(await save.isDisabled()).toBe(true);
  expect(await bar.getByText("would rise").count()).toBe(0);
  preview.open();
  await bar.getByText("would rise").waitFor();
  await save.click();
  await page.getByText("Saved: research").waitFor();
  expect(await weightOf("research")).toBe("24");
  expect(sent.map((input) => typeof input["if_revision"])).toEqual(["string"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => weightOf("research")).not.toBe("24");
  expect(complaints).toEqual([]);
  await leave();
});

it("what the server would refuse is explained, and cannot be saved", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/settings`);
  const sent = writes(page);
  await page.getByLabel("Bucket length, days").fill("365");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText(/decay_unit_days/).first().waitFor();
  expect(await bar.getByRole("alert").count()).toBe(1);
  expect(await bar.getByText("must not exceed").count()).toBe(1);
  // The reason is at the field, too, and goes with it.
  const field = page.locator(".field", { has: page.getByLabel("Bucket length, days") });
  expect(await field.locator(".fault").textContent()).toBe("decay_unit_days must not exceed lookback_days.");
  expect(await page.getByLabel("Bucket length, days").getAttribute("aria-invalid")).toBe("true");
  expect(await bar.getByText("Calculating").count()).toBe(0);
  expect(await bar.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  await page.getByLabel("Bucket length, days").fill("");
  await page.getByLabel("Half-life, days").fill("21");
  await bar.getByText(/would rise|no user's rank|Nothing would change/).waitFor();
  expect(await bar.getByRole("button", { name: "Save" }).isEnabled()).toBe(true);
  expect(await field.locator(".fault").count()).toBe(0);
  expect(await halfLife()).toBe(7);
  expect(sent).toEqual([]);
  expect(complaints).toEqual([]);
  await leave();
});

it("a scenario can be applied once its own preview is there, not while that of another one is", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/whatif`);
  const preview = await gate(page);
  const sent = writes(page);
  const apply = page.getByRole("button", { name: "Apply exactly this" });
  const said = page.getByRole("region", { name: "What would change" });
  await page.getByRole("button", { name: "Add a weight" }).click();
  await page.getByLabel("Name of the domain").fill("education");
  preview.open();
  await said.waitFor();
  preview.close();
  await page.getByLabel("New weight").fill("6");
  await page.getByText("Calculating what this changes…").waitFor();
  expect(await apply.isDisabled()).toBe(true);
  expect(await said.count()).toBe(0);
  preview.open();
  await said.getByText("would rise").waitFor();
  await apply.click();
  await page.getByText("Applied.").waitFor();
  expect(await weightOf("education")).toBe("6");
  expect(sent.map((input) => typeof input["if_revision"])).toEqual(["string"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => weightOf("education")).toBe("0.5");

  await page.getByRole("button", { name: "Add a weight" }).click();
  await page.getByLabel("Name of the domain").fill("nowhere");
  await page.getByRole("alert").waitFor();
  expect(await apply.isDisabled()).toBe(true);
  expect(complaints).toEqual([]);
  await leave();
});

it("a weight that is set goes back to the default on the page, and the API has none then", async () => {
  await setWeight("industry", "3");
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  const field = page.getByLabel("Weight of domain industry");
  expect(await field.inputValue()).toBe("3");
  await field.fill("");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText("industry: 3 → default").waitFor();
  await bar.getByRole("region", { name: "What would change" }).waitFor();
  await bar.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: industry 3 → default.").waitFor();
  expect(await weightOf("industry")).toBeNull();
  await expect.poll(() => field.getAttribute("placeholder")).not.toBe("default");
  expect(await field.inputValue()).toBe("");
  expect(complaints).toEqual([]);
  await leave();
});
