// Answers of single pages: a user's own part, places that there are not, kernels of a day, queues, usage and reports.
import { afterAll, expect, it } from "vitest";
import { adminKey, graphql, keyOf, person, settled, shutDown } from "./browser.ts";
import { GROUP, pagesOf } from "./pages.ts";

afterAll(shutDown);

/** The address of a user's part in their first project, as `user.project`. */
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
  expect(await page.getByText("Misallocated share").count()).toBeGreaterThan(0);
  expect(await table.count()).toBe(0);
  expect(await page.getByText("You were not active").count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

it("a place that no user can have is refused beside its field, and the page stays", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/explain/user/${await memberOf("zoe")}`);
  const field = page.getByLabel("Which weight leads to place");
  await field.fill("99999");
  await page.getByText(/^There is no place 99999: the places are 1 to \d+\.$/).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect(await page.locator(".waterfall").count()).toBe(1);
  // The address has it, too: a person who opens the link sees the same.
  expect(page.url()).toContain("place=99999");
  await page.reload();
  await page.getByText(/^There is no place 99999/).waitFor();
  await field.fill("1");
  await page.getByText(/leads to place 1\./).waitFor();
  expect(await page.getByText(/^There is no place/).count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

it("days lead to a factor and a place, and each tier has the kernels of a day", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const member = await memberOf("zoe");
  await goto(`${GROUP}/explain/user/${member}`);
  const steps = await page.locator(".waterfall .then").allTextContents();
  expect(steps.map((step) => step.replace(/[\d.]+.*/, "").trim())).toEqual(["÷ weight", "→ factor", "→ place"]);
  const figure = page.locator(".figures > div", { hasText: /^Factor/ }).locator("dd");
  expect(steps[1]).toContain(await figure.textContent());
  // The reason for the place of a neighbour is a sentence, with numbers that one can read.
  const before = page.locator("section.card", { hasText: "Who comes before and after" }).locator("p > span").first();
  expect(await before.textContent()).toMatch(/^The user .*has used less for (their|its) weight: .*\.$/);
  expect(await before.textContent()).not.toMatch(/\d\.\d{9}/);
  expect(await before.getAttribute("title")).toMatch(/\d\.\d{9}/);
  for (const tier of [`user/${member}`, `project/${member.split(".")[1]}`, "domain/research"]) {
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
  expect(complaints).toEqual([]);
  await leave();
});

it("an over-quota weight is tried, written with a limit, and taken back", async () => {
  const written = async () => {
    const { queue } = await graphql<{ queue: { over_quota_weight: string; limit: string } }>(`{ queue(resource_group: "${GROUP}", name: "vision") { over_quota_weight limit } }`);
    return [JSON.parse(queue.over_quota_weight), JSON.parse(queue.limit)] as unknown[];
  };
  const { page, complaints, goto, leave } = await person(adminKey());
  const before = await written();
  await goto(`${GROUP}/queues`);
  for (const name of ["Over quota", "Saturation"]) await page.getByRole("columnheader", { name }).waitFor();
  expect(await page.getByRole("row", { name: /^vision/ }).locator("td.number").nth(4).textContent()).toMatch(/%|∞/);
  await page.getByRole("button", { name: "Edit queue vision" }).click();
  const dialog = page.getByRole("dialog");
  const field = dialog.getByLabel("Over-quota weight, of every slot");
  const save = dialog.getByRole("button", { name: "Save", exact: true });
  await field.fill("much");
  await dialog.getByText("“much” is not a number.").waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  await save.click();
  expect(await written()).toEqual(before);
  await field.fill("50");
  const preview = dialog.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/);
  await preview.waitFor();
  await dialog.getByLabel("Limit of CPU, cores").fill("900");
  await preview.waitFor();
  await save.click();
  await page.getByText("The queue vision is saved.").waitFor();
  expect(await written()).toEqual(["50", { cpu: "900" }]);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(written).toEqual(before);
  expect(complaints).toEqual([]);
  await leave();
});

it("an admin sees the path ahead, and two users of different projects side by side", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/entity/user/${await memberOf("zoe")}`);
  await page.getByRole("heading", { name: "If nothing is run from now on" }).waitFor();
  const project = await page.locator(".crumbs").textContent();
  await page.getByLabel("Compare with").fill("amel");
  await page.getByRole("button", { name: /^amelia in / }).first().click();
  await page.getByRole("heading", { level: 1, name: "amelia" }).waitFor();
  expect(await page.locator(".crumbs").nth(1).textContent()).not.toBe(project);
  expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual(["zoe", "amelia"]);
  await page.getByRole("table", { name: "The path ahead" }).or(page.getByText(/changes until/)).nth(1).waitFor();
  expect(page.url()).toContain("beside=");
  await page.goBack();
  await expect.poll(() => page.getByRole("heading", { level: 1 }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await leave();
});

it("the usage of a domain is the sum of its projects, between two days, beside what the group offers", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/entity/domain/research`);
  const card = page.locator("section.card", { has: page.getByRole("heading", { name: "Usage by day" }) });
  await card.getByText("As a table").click();
  const table = card.getByRole("region", { name: "CUDA GPUs used by day and project, in GPU-hours" });
  await table.waitFor();
  const days = (await table.getByRole("rowheader").allTextContents()).slice(-9, -4);
  const [from = "", to = ""] = [days[0], days.at(-1)];
  await card.getByLabel("From").fill(from);
  await card.getByLabel("To").fill(to);
  await expect.poll(() => table.getByRole("rowheader").allTextContents()).toEqual(days);
  expect(page.url()).toContain(`from=${from}&to=${to}`);
  const heads = await table.getByRole("columnheader").allTextContents();
  expect(heads.at(-1)).toBe("The group offers");
  const rows = await table.locator("tbody tr").all();
  const cells = await Promise.all(rows.map(async (row) => (await row.locator("td").allTextContents()).map((text) => Number(text.replaceAll("\u202f", "")))));
  const report = `{ usage_report(resource_groups: ["${GROUP}"], from: "${from}", to: "${to}", by: [DAY], domain_name: "research", first: 10) { edges { node { slot_hours } } } }`;
  const { usage_report } = await graphql<{ usage_report: { edges: { node: { slot_hours: string } }[] } }>(report);
  const wanted = usage_report.edges.map(({ node }) => Number((JSON.parse(node.slot_hours) as Record<string, string>)["cuda.device"]));
  cells.forEach((cell, at) => {
    const sum = cell.slice(0, -1).reduce((all, value) => all + value, 0);
    expect(sum / (wanted[at] ?? 0)).toBeCloseTo(1, 1);
    expect(cell.at(-1)).toBeGreaterThanOrEqual(sum * 0.99);
  });
  await card.getByLabel("Beside what the group offers").uncheck();
  await expect.poll(() => table.getByRole("columnheader").last().textContent()).not.toBe("The group offers");
  // One tab a slot, and the link shows the same.
  await card.getByRole("tab", { name: "Memory" }).click();
  await page.reload();
  await card.getByText("As a table").click();
  await expect.poll(() => card.getByRole("region", { name: "Memory used by day and project, in GiB-hours" }).getByRole("rowheader").allTextContents()).toEqual(days);
  await card.getByRole("tab", { name: "What still counts" }).click();
  await card.getByText("The faint bar is all that was used that day").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("a report has the share of capacity of every slot, in its file as well", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/reports`);
  const heads = await page.getByRole("columnheader").allTextContents();
  expect(heads).toEqual(expect.arrayContaining(["CUDA GPUs, of capacity", "CPU, of capacity", "Memory, of capacity"]));
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV of all rows" }).click()]);
  const [head = "", ...rows] = Buffer.concat((await (await file.createReadStream()).toArray()) as Buffer[]).toString().trim().split("\r\n");
  expect(head).toBe("first_day,last_day,domain,project,user,charge_class,cuda.device GPU-hours,cuda.device capacity_share,cpu core-hours,cpu capacity_share,mem GiB-hours,mem capacity_share,used_share,entitled_share");
  expect(rows.length).toBeGreaterThan(1);
  expect(complaints).toEqual([]);
  await leave();
});
