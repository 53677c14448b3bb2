// Two admins at the same things, with Live on: a draft rests on the state at which it was begun, and the second save never wins unseen.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { address, adminKey, graphql, person, shutDown, type Person } from "./browser.ts";
import { gpusOf, halfLife, quotaOf, resetQueue, setWeight, weightOf } from "./configured.ts";
import { GROUP } from "./pages.ts";
import { inSight } from "./sight.ts";

let second = "";
let research: string | null = null;

interface Options {
  half_life_days?: number;
  resource_weights?: Record<string, string>;
}

async function configured(): Promise<Options> {
  const answer = await graphql<{ resource_group: { configured_scheduler_opts: string } }>(`{ resource_group(name: "${GROUP}") { configured_scheduler_opts } }`);
  return JSON.parse(answer.resource_group.configured_scheduler_opts) as Options;
}

beforeAll(async () => {
  research = await weightOf("research");
  second = (await graphql<{ create_key: { key: string } }>('mutation { create_key(role: ADMIN, label: "second admin") { key } }')).create_key.key;
});
afterAll(async () => {
  await setWeight("research", research);
  await shutDown();
});

/** A write of the second admin by a program, as another browser would send it. */
const bySecond = (mutation: string): Promise<unknown> => graphql(`mutation { ${mutation} }`, second);

const bar = (page: Page): Locator => page.getByRole("region", { name: "Changes that are not saved" });
const changed = (page: Page): Locator => page.getByRole("region", { name: "What was changed meanwhile" });
const rowOf = (page: Page, name: string): Locator => changed(page).locator("tbody tr", { hasText: name });

/** Two admins who are signed in with keys of their own. */
async function both(path: string): Promise<[Person, Person]> {
  const people: [Person, Person] = [await person(adminKey()), await person(second)];
  for (const { goto, page } of people) {
    await goto(path);
    expect(await page.getByLabel("Live").isChecked()).toBe(true);
  }
  return people;
}

async function leave(people: Person[]): Promise<void> {
  for (const { complaints, leave: close } of people) {
    expect(complaints).toEqual([]);
    await close();
  }
}

it("Shares: the weight that another admin saved meanwhile is shown beside one's own, and kept over only knowingly", async () => {
  await setWeight("research", "2");
  const people = await both(`${GROUP}/shares`);
  const [first, other] = people;
  const field = first.page.getByLabel("Weight of domain research");
  await field.fill("12");
  await bar(first.page).getByText("would rise").waitFor();

  await other.page.getByLabel("Weight of domain research").fill("5");
  await bar(other.page).getByText("would rise").waitFor();
  await bar(other.page).getByLabel("Reason, for the audit log").fill("a grant");
  await bar(other.page).getByRole("button", { name: "Save" }).click();
  await other.page.getByText("Saved: research 2 → 5.").waitFor();

  await changed(first.page).getByText("second admin changed this group after you had begun.").waitFor();
  expect(await changed(first.page).textContent()).toContain("“a grant”");
  await expect.poll(() => rowOf(first.page, "domain research").locator("td").allTextContents()).toEqual(["2", "5 changed", "12"]);
  expect(await field.inputValue()).toBe("12");
  expect(await bar(first.page).getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  expect(await weightOf("research")).toBe("5");

  await changed(first.page).getByRole("button", { name: "Keep my changes on the new state" }).click();
  await bar(first.page).getByText("research: 5 → 12").waitFor();
  await bar(first.page).getByRole("button", { name: "Save" }).click();
  await first.page.getByText("Saved: research 5 → 12.").waitFor();
  expect(await weightOf("research")).toBe("12");
  await leave(people);
});

it("Shares: a draft that is dropped leaves the weight of the other admin", async () => {
  const { page, complaints, goto, leave: close } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  const field = page.getByLabel("Weight of domain education");
  await field.fill("9");
  await bar(page).getByText("would rise").waitFor();
  await bySecond(`upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "education", weight: "4") { weight }`);
  await changed(page).getByRole("button", { name: "Drop my changes" }).click();
  await expect.poll(() => field.inputValue()).toBe("4");
  expect(await bar(page).count()).toBe(0);
  expect(await weightOf("education")).toBe("4");
  // The next draft begins at what is there now.
  await field.fill("0.5");
  await bar(page).getByText("education: 4 → 0.5").waitFor();
  await bar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: education").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

it("Settings: a setting that another admin saved meanwhile stays, and one's own is kept over only knowingly", async () => {
  const before = await configured();
  const people = await both(`${GROUP}/settings`);
  const [first, other] = people;
  await first.page.getByLabel("Half-life, days").fill("14");
  await first.page.getByLabel("Weight of CUDA GPUs").fill("3");
  await bar(first.page).getByRole("region", { name: "What would change" }).waitFor();

  await other.page.getByLabel("Half-life, days").fill("21");
  await other.page.getByLabel("Weight of CPU").fill("2");
  await bar(other.page).getByRole("region", { name: "What would change" }).waitFor();
  await bar(other.page).getByRole("button", { name: "Save" }).click();
  await other.page.getByText("are saved.").waitFor();

  await changed(first.page).getByText("second admin changed this group after you had begun.").waitFor();
  await expect.poll(() => rowOf(first.page, "Half-life").locator("td").allTextContents()).toEqual(["default", "21 changed", "14"]);
  expect(await bar(first.page).getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  expect(await halfLife()).toBe(21);
  await changed(first.page).getByRole("button", { name: "Keep my changes on the new state" }).click();
  await bar(first.page).getByText("Half-life: 21 → 14").waitFor();
  await bar(first.page).getByRole("button", { name: "Save" }).click();
  await first.page.getByText("are saved.").waitFor();
  expect(await halfLife()).toBe(14);
  expect((await configured()).resource_weights).toEqual({ ...before.resource_weights, cpu: "2", "cuda.device": "3" });
  const restored = JSON.stringify({ half_life_days: null, resource_weights: { cpu: null, "cuda.device": null, ...before.resource_weights } });
  await graphql(`mutation { update_scheduler_options(resource_group: "${GROUP}", scheduler_opts: ${JSON.stringify(restored)}) { name } }`);
  await leave(people);
});

it("Queues: a quota that another admin saved meanwhile is shown, and what one did not touch is taken from there", async () => {
  const queue = async () => {
    const answer = await graphql<{ queue: { quota: string; priority: number } }>(`{ queue(resource_group: "${GROUP}", name: "language") { quota priority } }`);
    return [gpusOf(answer.queue.quota), answer.queue.priority];
  };
  const begun = await quotaOf("language");
  const people = await both(`${GROUP}/queues`);
  const [first, other] = people;
  for (const { page } of people) await page.getByRole("button", { name: "Edit queue language" }).click();
  const [mine, theirs] = [first.page.getByRole("dialog"), other.page.getByRole("dialog")];
  await mine.getByLabel("Quota of CUDA GPUs").fill("12");
  await mine.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/).waitFor();

  await theirs.getByLabel("Quota of CUDA GPUs").fill("10");
  await theirs.getByLabel("Priority").fill("3");
  await theirs.getByRole("button", { name: "Save", exact: true }).click();
  await other.page.getByText("The queue language is saved.").waitFor();

  await changed(first.page).getByText("second admin changed this group after you had begun.").waitFor();
  // The form is longer than the window; what stops it is on the screen all the same.
  expect(await inSight(changed(first.page).getByText("Nothing of yours is saved."))).toBe(true);
  expect(await inSight(changed(first.page).getByRole("button", { name: "Keep my changes on the new state" }))).toBe(true);
  await expect.poll(() => rowOf(first.page, "Quota of CUDA GPUs").locator("td").allTextContents()).toEqual([gpusOf(begun), "10 changed", "12"]);
  expect(await mine.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
  expect(await queue()).toEqual(["10", 3]);
  await changed(first.page).getByRole("button", { name: "Keep my changes on the new state" }).click();
  await expect.poll(() => mine.getByLabel("Priority").inputValue()).toBe("3");
  expect(await mine.getByLabel("Quota of CUDA GPUs").inputValue()).toBe("12");
  await mine.getByRole("button", { name: "Save", exact: true }).click();
  await first.page.getByText("The queue language is saved.").waitFor();
  expect(await queue()).toEqual(["12", 3]);
  await resetQueue("language", "research", begun);
  await leave(people);
});

it("What if: a scenario is not applied over what another admin applied meanwhile, and its link remembers when it was begun", async () => {
  await setWeight("industry", null);
  const people = await both(`${GROUP}/whatif`);
  const [first, other] = people;
  for (const [{ page }, weight] of [[first, "3"], [other, "6"]] as const) {
    await page.getByRole("button", { name: "Add a weight" }).click();
    await page.getByLabel("Name of the domain").fill("industry");
    await page.getByLabel("New weight").fill(weight);
    await page.getByRole("region", { name: "What would change" }).waitFor();
  }
  const apply = (page: Page) => page.getByRole("button", { name: "Apply exactly this" });
  await apply(other.page).click();
  await other.page.getByText("Applied.").waitFor();

  await changed(first.page).getByText("second admin changed this group after you had begun.").waitFor();
  expect(await apply(first.page).isDisabled()).toBe(true);
  expect(await weightOf("industry")).toBe("6");
  // A person who opens the link later learns of it, too.
  await other.page.goto(first.page.url());
  await changed(other.page).getByText("This group was changed after you had begun.").waitFor();
  expect(await apply(other.page).isDisabled()).toBe(true);

  await changed(first.page).getByRole("button", { name: "Keep my changes on the new state" }).click();
  await apply(first.page).click();
  await first.page.getByText("Applied.").waitFor();
  expect(await weightOf("industry")).toBe("3");
  await setWeight("industry", null);
  await leave(people);
});

it("a save without Live is refused, and the page shows then what the other admin did", async () => {
  await setWeight("research", "2");
  const { page, complaints, goto, leave: close } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Live").uncheck();
  await page.getByLabel("Weight of domain research").fill("12");
  await bar(page).getByText("would rise").waitFor();
  await bySecond(`upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "research", weight: "5", reason: "quietly") { weight }`);
  await bar(page).getByRole("button", { name: "Save" }).click();
  await changed(page).getByText("second admin changed this group after you had begun.").waitFor();
  expect(await changed(page).textContent()).toContain("“quietly”");
  await expect.poll(() => rowOf(page, "domain research").locator("td").allTextContents()).toEqual(["2", "5 changed", "12"]);
  expect(await weightOf("research")).toBe("5");
  await changed(page).getByRole("button", { name: "Drop my changes" }).click();
  expect(complaints).toEqual([]);
  await close();
});

it("reports of nodes are no changes of another admin, and a draft goes on over them", async () => {
  const { page, complaints, goto, leave: close } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Weight of domain research").fill("14");
  await bar(page).getByText("would rise").waitFor();
  const headers = { Authorization: `Bearer ${second}`, "Content-Type": "application/json" };
  const url = `${address()}/resource-groups/${GROUP}/agents/a-node-of-a-test`;
  const revision = async () => (await graphql<{ resource_group: { config_revision: string } }>(`{ resource_group(name: "${GROUP}") { config_revision } }`)).resource_group.config_revision;
  const before = await revision();
  expect((await fetch(url, { method: "PUT", headers, body: JSON.stringify({ available_slots: { cpu: "1" } }) })).ok).toBe(true);
  const after = await revision();
  expect(after).not.toBe(before);
  const sent: string[] = [];
  page.on("request", (request) => request.postData()?.includes("ApplyShares") && sent.push(request.postData() ?? ""));
  const save = bar(page).getByRole("button", { name: "Save" });
  await page.waitForResponse((response) => response.request().postData()?.includes("DraftState") === true);
  await save.click();
  await page.getByText("Saved: research").waitFor();
  expect(sent.at(-1)).toContain(after);
  expect(await changed(page).count()).toBe(0);
  await fetch(url, { method: "DELETE", headers });
  expect(complaints).toEqual([]);
  await close();
});

it("a queue that one has added is not taken away again over what another admin made of it", async () => {
  const { page, goto, leave: close } = await person(adminKey());
  await goto(`${GROUP}/queues`);
  await page.getByRole("button", { name: "Add a queue" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("shared-queue");
  await dialog.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/).waitFor();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The queue shared-queue is saved.").waitFor();
  await bySecond(`upsert_queues(resource_group: "${GROUP}", queues: [{ name: "shared-queue", priority: 4 }]) { changed_count }`);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("It was not undone: second admin changed").waitFor();
  const answer = await graphql<{ queue: { priority: number } }>(`{ queue(resource_group: "${GROUP}", name: "shared-queue") { priority } }`);
  expect(answer.queue.priority).toBe(4);
  await graphql(`mutation { delete_queue(resource_group: "${GROUP}", name: "shared-queue") }`);
  await close();
});
