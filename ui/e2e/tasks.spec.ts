// Whole tasks of people, from the beginning to the end, through the page and against the real server.
import { afterAll, expect, it } from "vitest";
import { address, adminKey, graphql, keyOf, person, settled, shutDown } from "./browser.ts";
import { gpusOf, halfLife, quotaOf, weightOf } from "./configured.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

it("a person signs in, and the key leaves the address", async () => {
  const { page, complaints, leave } = await person(null);
  await page.getByLabel("API key").fill("fsk_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("This is no key of this server.").waitFor();
  await page.getByLabel("API key").fill(adminKey());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  const cookies = await page.context().cookies();
  expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([{ httpOnly: true, sameSite: "Strict" }]);
  const kept = await page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie);
  expect(kept).not.toContain(adminKey());
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  await page.goto(`${address()}/ui/${GROUP}/shares#key=${adminKey()}`);
  await page.getByRole("heading", { name: "Shares" }).waitFor();
  expect(page.url()).not.toContain("key=");
  expect(complaints).toEqual([]);
  await leave();
});

it("an admin raises a domain's weight, sees ranks move, and takes it back", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const before = await weightOf("research");
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Weight of domain research").fill("20");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText("1 weight changed").waitFor();
  expect(await bar.textContent()).toContain(`${before} → 20`);
  await bar.getByText("users would rise").waitFor();
  await bar.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: research").waitFor();
  expect(await weightOf("research")).toBe("20");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr")[0]?.textContent?.includes("research"));
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => weightOf("research")).toBe(before);
  expect(complaints).toEqual([]);
  await leave();
});

it("a change is found in the audit log and undone there", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: "3", reason: "for a test") { weight } }`);
  await goto(`${GROUP}/audit?action=weights.put&from=2020-01-01`);
  await page.getByText("“for a test”").waitFor();
  await page.getByRole("button", { name: /^Undo Weights/ }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo it" }).click();
  await page.getByText("The change is undone.").waitFor();
  expect(await weightOf("industry")).toBeNull();
  await graphql(`mutation { update_scheduler_options(resource_group: "${GROUP}", scheduler_opts: "{\\"half_life_days\\": 8}") { name } }`);
  await page.getByLabel("Action").selectOption({ label: "Options" });
  await page.getByText("half_life_days: – → 8").waitFor();
  await page.getByRole("button", { name: /^Undo Options/ }).first().click();
  await page.getByRole("dialog").getByText("half_life_days: 8 → –").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Undo it" }).click();
  await expect.poll(() => halfLife()).toBe(7);
  await page.getByLabel("Action").selectOption({ label: "every action" });
  // A typed text stays while the page follows the changes of others.
  await page.getByLabel("Author").fill("nobody at all");
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: "6", reason: "meanwhile") { weight } }`);
  await page.getByText("“meanwhile”").waitFor();
  await page.getByLabel("Author").press("Enter");
  await page.getByText("Nothing was changed").waitFor();
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: null) { weight } }`);
  expect(complaints).toEqual([]);
  await leave();
});

it("an admin finds out why a user is where they are", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/explain`);
  await page.getByText("The first 20 of 32 by rank.").waitFor();
  await page.getByLabel("Name of a user").fill("zoe");
  await page.getByRole("link", { name: "zoe in imaging" }).click();
  await page.getByRole("heading", { name: "zoe" }).waitFor();
  await settled(page);
  await page.locator(".waterfall").waitFor();
  await page.getByText("Every day with its decay, and its kernels").click();
  await page.locator("details details summary").first().click();
  await page.locator("details details .mono").first().waitFor();
  await page.getByLabel("Which weight leads to place").fill("1");
  await page.getByText(/leads to place 1/).waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("a scenario is made, sent as a link, opened by another admin, and applied", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/whatif`);
  await page.getByRole("button", { name: "Add a weight" }).click();
  await page.getByLabel("Name of the domain").fill("education");
  await page.getByLabel("New weight").fill("9");
  await page.getByRole("region", { name: "What would change" }).getByText("would rise").waitFor();
  const link = page.url();
  await leave();
  const other = await person(adminKey());
  await other.page.goto(link);
  await other.page.getByRole("region", { name: "What would change" }).getByText("would rise").waitFor();
  await other.page.getByLabel("Reason, for the audit log").fill("as agreed");
  await other.page.getByRole("button", { name: "Apply exactly this" }).click();
  await other.page.getByText("Applied.").waitFor();
  expect(await weightOf("education")).toBe("9");
  await other.page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => weightOf("education")).toBe("0.5");
  expect(other.complaints).toEqual([]);
  await other.leave();
});

it("the faster client is named, and nothing is saved", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Live").uncheck();
  await page.getByLabel("Weight of domain life-science").fill("4");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText("would rise").waitFor();
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: "5") { weight } }`);
  await bar.getByRole("button", { name: "Save" }).click();
  await bar.getByText("demo changed this group after you had begun. Nothing of yours is saved.").waitFor();
  expect(await weightOf("life-science")).toBeNull();
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: null) { weight } }`);
  await leave();
});

it("last month is reported by project, and saved as CSV", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/reports`);
  await page.getByRole("link", { name: "Reports" }).waitFor();
  await page.locator("tbody tr").first().waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV of all rows" }).click()]);
  const text = await (await file.createReadStream()).toArray();
  const lines = Buffer.concat(text as Buffer[]).toString().trim().split("\r\n");
  expect(lines[0]).toContain("first_day,last_day,domain,project,user,charge_class,cuda.device GPU-hours");
  expect(lines.length).toBe((await page.locator("tbody tr").count()) + 1);
  expect(complaints).toEqual([]);
  await leave();
});

it("weights are pasted, and a line that is wrong is named", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByRole("button", { name: "Paste weights" }).click();
  await page.getByLabel("One weight a line").fill("domain nowhere 2");
  await page.getByRole("button", { name: "Take these" }).click();
  await page.getByText("There is no domain nowhere in this group.").waitFor();
  await page.getByLabel("One weight a line").fill("domain education 0.75\nproject vision 1.5\nuser priya theses default");
  await page.getByRole("button", { name: "Take these" }).click();
  await page.getByText("3 weights changed").waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  expect(await weightOf("education")).toBe("0.5");
  await leave();
});

it("a name is found, and its page shows how the factor comes about", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares?view=user`);
  await page.getByLabel("Search by name").fill("amel");
  await page.getByRole("link", { name: "amelia" }).click();
  await page.getByRole("heading", { name: "amelia" }).waitFor();
  await settled(page);
  await page.getByText("How the factor comes about").waitFor();
  await page.locator("canvas").first().waitFor();
  await page.goBack();
  expect(await page.getByLabel("Search by name").inputValue()).toBe("amel");
  await leave();
});

it("the half-life is changed and taken back", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/settings`);
  await page.getByLabel("Half-life, days").fill("0");
  await page.getByText("A whole number from 1 to 3650.").waitFor();
  await page.getByLabel("Half-life, days").fill("14");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByText("Half-life: default → 14").waitFor();
  expect(await bar.getByRole("region", { name: "What would change" }).locator("strong").textContent()).toMatch(/^\d+ users? would rise and \d+ users? would fall\./);
  await bar.getByRole("button", { name: "Save" }).click();
  await page.getByText(`The settings of ${GROUP} are saved.`).waitFor();
  expect(await halfLife()).toBe(14);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(halfLife).toBe(7);
  await leave();
});

it("a reclaim is planned and the queue tree is edited", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/queues`);
  await page.getByRole("button", { name: "Plan a reclaim" }).click();
  const plan = page.locator("section.card", { hasText: "A workload that is not there yet" });
  await plan.getByLabel("Queue").selectOption("forecasting");
  await plan.getByLabel("CUDA GPUs").fill("8");
  await plan.getByLabel("CPU, cores").fill("48");
  await plan.getByRole("button", { name: "Which kernels would be reclaimed?" }).click();
  await page.getByRole("region", { name: "The plan" }).getByText("It can run once these workloads have given back").waitFor();
  await plan.getByLabel("CPU, cores").fill("4");
  expect(await page.getByRole("region", { name: "The plan" }).count()).toBe(0);
  await page.getByRole("button", { name: "Edit queue vision" }).click();
  const dialog = page.getByRole("dialog");
  const quota = await quotaOf("vision");
  expect(gpusOf(quota)).toBe("8");
  await dialog.getByLabel("Quota of CUDA GPUs").fill("16");
  await dialog.getByRole("row", { name: /^vision CUDA/ }).waitFor();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The queue vision is saved.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => quotaOf("vision")).toBe(quota);
  await leave();
});

it("a key is made and revoked, and who signed in with it is signed out", async () => {
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/keys`);
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("Label").fill("a colleague");
  await page.getByRole("button", { name: "Make the key" }).click();
  const key = (await page.locator("[data-key]").textContent())?.trim() ?? "";
  expect(key).toMatch(/^fsk_/);
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
  const colleague = await person(key);
  await colleague.page.getByRole("heading", { name: "cpu-farm" }).waitFor();
  await page.getByRole("button", { name: "Revoke a colleague" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The key “a colleague” is revoked.").waitFor();
  await colleague.page.getByText("The key that you signed in with was revoked.").waitFor();
  await colleague.leave();
  await leave();
});

it("a viewer and a user are offered only what they may do, and are refused the rest", async () => {
  const viewerKey = await keyOf("VIEWER");
  const viewer = await person(viewerKey);
  await viewer.goto(`${GROUP}/shares`);
  expect(await viewer.page.getByLabel("Weight of domain research").count()).toBe(0);
  expect(await viewer.page.getByRole("button", { name: "Paste weights" }).count()).toBe(0);
  expect(await viewer.page.getByRole("link", { name: "Keys" }).count()).toBe(0);
  await viewer.page.goto(`${address()}/ui/${GROUP}/keys`);
  await viewer.page.getByText("Your key does not show this page").waitFor();
  const write = `mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "research", weight: "9") { weight } }`;
  await expect(graphql(write, viewerKey)).rejects.toThrow("forbidden");
  expect(viewer.complaints).toEqual([]);
  await viewer.leave();

  const userKey = await keyOf("USER", "amelia");
  const user = await person(userKey);
  // A user arrives at what explains the own place.
  await user.page.waitForURL(/explain\/user\//);
  await user.page.getByText("How the factor comes about").or(user.page.locator(".waterfall")).first().waitFor();
  await user.page.getByRole("link", { name: "My rank" }).click();
  await user.page.getByRole("heading", { name: "Hello, amelia" }).waitFor();
  await user.page.getByText(/of yours/).first().waitFor();
  await user.goto(`${GROUP}/mine`);
  await user.page.getByRole("link", { name: "My usage by day" }).click();
  await user.page.getByRole("heading", { name: "amelia" }).waitFor();
  await settled(user.page);
  expect(await user.page.locator("main").textContent()).not.toContain("zoe");
  await expect(graphql(`{ keys { count } }`, userKey)).rejects.toThrow("forbidden");
  expect(user.complaints).toEqual([]);
  await user.leave();
});

it("names that are wide or look like markup stay names", async () => {
  const names = ["<script>alert(1)<script>", "宽".repeat(64)];
  for (const name of names) await graphql(`mutation { upsert_domain(name: ${JSON.stringify(name)}) { name } upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: ${JSON.stringify(name)}, weight: "1") { weight } }`);
  const { page, complaints, goto, leave } = await person(adminKey(), { width: 390, height: 844, theme: "light" });
  for (const view of ["shares", "overview", "audit", "fairness"]) {
    await goto(`${GROUP}/${view}`);
    if (view === "shares" || view === "overview") for (const name of names) await page.getByRole("link", { name }).first().waitFor();
    if (view === "audit") for (const name of names) await page.getByText(name).first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), view).toBeLessThanOrEqual(1);
  }
  for (const name of names) await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: ${JSON.stringify(name)}, weight: null) { weight } upsert_domain(name: ${JSON.stringify(name)}, archived: true) { name } }`);
  expect(complaints).toEqual([]);
  await leave();
});

it("a lost connection is said, and what was seen stays", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.route("**/graphql", (route) => route.abort());
  await page.getByText("The server cannot be reached. What you see may be old").waitFor();
  expect(await page.getByRole("link", { name: "research" }).count()).toBe(1);
  await page.route("**/ui/session", (route) => route.abort());
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.unroute("**/ui/session");
  await page.unroute("**/graphql");
  await page.getByText("The server cannot be reached").waitFor({ state: "detached" });
  expect(await page.getByRole("link", { name: "research" }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await leave();
});
