// Numbers that cannot be read are refused at their fields, and an empty field is not zero.
import type { Locator } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { adminKey, graphql, person, shutDown } from "./browser.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

/** The words of a screen reader about a field besides its name. */
const described = (field: Locator): Promise<string> =>
  field.evaluate((input) => (input.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" "));

async function expectFault(field: Locator, text: string, fault: string): Promise<void> {
  await field.fill(text);
  await expect.poll(() => field.getAttribute("aria-invalid"), { message: text }).toBe("true");
  expect(await described(field), text).toContain(fault);
}

async function expectFaults(field: Locator): Promise<void> {
  await expectFault(field, "-5", "below 0");
  await expectFault(field, "abc", "“abc” is not a number");
  await expectFault(field, "1,5", "“1,5” is not a number");
}

it("a reclaim is not planned for amounts that are none, and nothing of it seems to fit", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/queues?plan=1`);
  const card = page.locator("section.card", { hasText: "Plan a reclaim" });
  const plan = card.getByRole("region", { name: "The plan" });
  const ask = card.getByRole("button", { name: "Which kernels would be reclaimed?" });
  const gpus = card.getByLabel("CUDA GPUs");
  const asked: string[] = [];
  page.on("request", (request) => request.postData()?.includes("plan_reclaim") && asked.push(request.postData() ?? ""));
  await card.getByLabel("Queue").selectOption("theses");
  for (const text of ["-5", "abc", "1e3"]) {
    await gpus.fill(text);
    await ask.click();
    await expect.poll(() => gpus.evaluate((input) => input === document.activeElement)).toBe(true);
    expect(await gpus.getAttribute("aria-invalid"), text).toBe("true");
  }
  expect(await described(gpus)).toContain("“1e3” is not a number");
  for (const text of ["", "0"]) {
    await gpus.fill(text);
    await ask.click();
    await expect.poll(() => described(gpus), { message: text }).toContain("Give more than 0 of at least one slot");
  }
  expect(await plan.count()).toBe(0);
  expect(asked).toEqual([]);

  await gpus.fill("9999");
  expect(await gpus.getAttribute("aria-invalid")).toBeNull();
  await ask.click();
  await plan.getByText("It cannot run now, no matter which workloads give back.").waitFor();
  const reason = plan.getByRole("table", { name: "Why the plan is refused" }).locator("tbody tr").first();
  expect(await reason.locator("th").textContent()).toBe("theses");
  expect(await reason.textContent()).toContain("The queue would have more than its fair share.");
  expect(await reason.textContent()).toMatch(/\d %/);
  expect(complaints).toEqual([]);
  await leave();
});

it("a queue is neither tried nor saved while a number of it cannot be read", async () => {
  const queue = async () => (await graphql<{ queue: object }>(`{ queue(resource_group: "${GROUP}", name: "theses") { priority weight quota limit over_quota_weight } }`)).queue;
  const before = await queue();
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/queues`);
  await page.getByRole("button", { name: "Edit queue theses" }).click();
  const dialog = page.getByRole("dialog");
  const save = dialog.getByRole("button", { name: "Save", exact: true });
  const priority = dialog.getByLabel("Priority");
  const names = ["Quota of CUDA GPUs", "Limit of Memory, GiB", "Over-quota weight, of every slot", "Weight"];
  for (const name of names) {
    const field = dialog.getByLabel(name, { exact: true });
    const value = await field.inputValue();
    await expectFaults(field);
    await save.click();
    await expect.poll(() => field.evaluate((input) => input === document.activeElement)).toBe(true);
    await field.fill(value);
  }
  for (const text of ["abc", "1.5", "99999999999"]) await expectFault(priority, text, "Write a whole number");
  await dialog.getByText("The preview appears once every field can be read.").waitFor();
  await save.click();
  expect(await queue()).toEqual(before);
  expect(complaints).toEqual([]);
  await leave();
});

it("a scenario with a number that cannot be read is not tried", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/whatif`);
  const capacity = page.getByLabel("CUDA GPUs", { exact: true });
  await expectFaults(capacity);
  await page.getByText("A number cannot be read").waitFor();
  await capacity.fill("64");
  await page.getByRole("region", { name: "What would change" }).waitFor();
  await page.getByRole("button", { name: "Change a queue" }).click();
  await page.getByLabel("Name of the queue").fill("theses");
  await expectFaults(page.getByLabel("Quota of CUDA GPUs"));
  await expectFault(page.getByLabel("Priority"), "abc", "Write a whole number");
  await expectFaults(page.getByLabel("Weight of the queue"));
  await page.getByRole("button", { name: "Remove the change of the queue theses" }).click();
  await page.getByRole("button", { name: "Add a weight" }).click();
  await expectFault(page.getByLabel("New weight"), "-5", "A weight is");
  await page.getByRole("button", { name: "Remove the weight of" }).click();
  await page.getByRole("button", { name: "Add a user" }).click();
  await expectFault(page.getByLabel("Weight of the new user"), "0", "A weight is at least 0.0001.");
  expect(await page.getByRole("region", { name: "What would change" }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

it("settings and weights that cannot be read are refused at their fields", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/settings`);
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  const save = bar.getByRole("button", { name: "Save" });
  for (const name of ["Weight of CUDA GPUs", "Usage penalty"]) {
    const field = page.getByLabel(name);
    await expectFaults(field);
    expect(await save.isDisabled(), name).toBe(true);
    await field.fill("");
  }
  await expectFault(page.getByLabel("Default weight"), "-1", "A weight is");
  await page.getByLabel("Default weight").fill("");
  await expectFault(page.getByLabel("Search budget, milliseconds"), "1.5", "Write a whole number from 0 to 60000.");
  await expectFault(page.getByLabel("Half-life, days"), "0", "Write a whole number from 1 to 3650.");
  await goto(`${GROUP}/shares`);
  await expectFault(page.getByLabel("Weight of domain research"), "-5", "A weight is");
  expect(await save.isDisabled()).toBe(true);
  await goto(`${GROUP}/explain/domain/research`);
  await page.getByLabel("Which weight leads to place").fill("-5");
  await page.getByText("There is no place -5").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});
