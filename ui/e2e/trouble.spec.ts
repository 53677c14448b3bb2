// Trouble as a person meets it: a session ends, another client was faster, nothing is there.
import { afterAll, expect, it } from "vitest";
import { address, adminKey, graphql, keyOf, person, settled, shutDown } from "./browser.ts";
import { gpusOf, quotaOf, resetQueue, weightOf } from "./configured.ts";
import { everyPage, GROUP } from "./pages.ts";

afterAll(shutDown);

/** Revokes the key that was made last with this label. */
async function revoke(label: string): Promise<void> {
  const answer = await graphql<{ keys: { edges: { node: { key_id: string; label: string; revoked_at: string | null } }[] } }>(`{ keys(last: 50) { edges { node { key_id label revoked_at } } } }`);
  const key = answer.keys.edges.map(({ node }) => node).findLast((node) => node.label === label && !node.revoked_at);
  await graphql(`mutation { revoke_key(id: "${key?.key_id}") }`);
}

it("a session that ends is named in words, and a person who signs in again is where they were", async () => {
  const { page, goto, leave } = await person(await keyOf("VIEWER"));
  const place = `${GROUP}/shares?view=user&q=am`;
  await goto(place);
  await page.getByRole("link", { name: "amelia" }).first().waitFor();
  await revoke("viewer of a test");
  await page.getByText("The key that you signed in with was revoked.").waitFor();
  // A session that has ended, and not its key.
  await page.route("**/graphql", (route) => route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ code: "expired_session", status: 401, title: "x", detail: "x" }) }));
  await page.getByLabel("API key").fill(adminKey());
  await page.unroute("**/graphql");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "amelia" }).first().waitFor();
  expect(page.url()).toBe(`${address()}/ui/${place}`);
  expect(await page.getByLabel("Search by name").inputValue()).toBe("am");

  await page.route("**/graphql", (route) => route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ code: "expired_session", status: 401, title: "x", detail: "x" }) }));
  await page.getByText("You were signed in for 12 hours. Sign in again to go on where you were.").waitFor();
  await page.unroute("**/graphql");
  await page.getByLabel("API key").fill(adminKey());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "amelia" }).first().waitFor();
  expect(page.url()).toBe(`${address()}/ui/${place}`);
  await leave();
});

it("a group in which nothing has happened yet has every page", async () => {
  const headers = { Authorization: `Bearer ${adminKey()}`, "Content-Type": "application/json" };
  const made = await fetch(`${address()}/resource-groups/nothing-yet`, { method: "PUT", headers, body: "{}" });
  expect(made.ok).toBe(true);
  const { page, complaints, goto, leave } = await person(adminKey(), { width: 390, height: 844, theme: "dark" });
  for (const [name, path] of await everyPage()) {
    await goto(path.replace(GROUP, "nothing-yet"));
    await settled(page);
    expect((await page.locator("main").textContent())?.length, name).toBeGreaterThan(20);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), name).toBeLessThanOrEqual(1);
    expect(complaints, name).toEqual([]);
  }
  await goto("nothing-yet/shares");
  await page.getByText("Nothing is here yet").waitFor();
  await goto("nothing-yet/queues");
  await page.getByText("This group has no queues").waitFor();
  await leave();
  await fetch(`${address()}/resource-groups/nothing-yet`, { method: "DELETE", headers });
});

it("a queue is not saved over a change of another client, and the page names both", async () => {
  const { page, goto, leave } = await person(adminKey());
  const begun = await quotaOf("language");
  await goto(`${GROUP}/queues`);
  await page.getByLabel("Live").uncheck();
  await page.getByRole("button", { name: "Edit queue language" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Quota of CUDA GPUs").fill("12");
  // It depends on the hour of the demo whether another amount would be deserved.
  const preview = dialog.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/);
  await preview.waitFor();
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: "5", reason: "meanwhile") { weight } }`);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.getByText("demo changed this group after you had begun.").waitFor();
  expect(await dialog.getByRole("alert").textContent()).toContain("Weights “meanwhile”");
  expect(await quotaOf("language")).toBe(begun);
  // A draft that is kept goes out from the newest state, and so does its preview.
  expect(await dialog.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
  await dialog.getByRole("button", { name: "Keep my changes on the new state" }).click();
  await preview.waitFor();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The queue language is saved.").waitFor();
  expect(gpusOf(await quotaOf("language"))).toBe("12");
  // Nor is an undo made over what came after.
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "industry", weight: null) { weight } }`);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("It was not undone:").waitFor();
  await resetQueue("language", "research", begun);
  await leave();
});

it("a queue is added, and removed after a preview", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const names = async () => {
    const answer = await graphql<{ queues: { edges: { node: { name: string } }[] } }>(`{ queues(resource_group: "${GROUP}", first: 100) { edges { node { name } } } }`);
    return answer.queues.edges.map(({ node }) => node.name);
  };
  await goto(`${GROUP}/queues`);
  await page.getByRole("button", { name: "Add a queue" }).click();
  await page.getByLabel("Name").fill("spare");
  await page.getByLabel("Quota of CUDA GPUs").fill("4");
  await page.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/).waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The queue spare is saved.").waitFor();
  expect(await names()).toContain("spare");
  await page.getByRole("button", { name: "Edit queue spare" }).click();
  await page.getByRole("button", { name: "Remove…" }).click();
  expect(await names()).toContain("spare");
  await page.getByRole("button", { name: "Remove it" }).click();
  await page.getByText("The queue spare is removed.").waitFor();
  expect(await names()).not.toContain("spare");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(names).toContain("spare");
  await graphql(`mutation { delete_queue(resource_group: "${GROUP}", name: "spare") }`);
  expect(complaints).toEqual([]);
  await leave();
});

it("a queue that others are below is not removed, and the form names them", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/queues`);
  await page.getByRole("button", { name: "Edit queue education" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Remove…" }).click();
  await dialog.getByText("Below this queue there are ml-course, theses.").waitFor();
  expect(await dialog.getByRole("button", { name: "Remove it" }).isDisabled()).toBe(true);
  expect(await dialog.getByRole("alert").count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

it("people and queues are tried, and queues are applied with the rest", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const { workloads } = await graphql<{ workloads: { edges: { node: { user: string } }[] } }>(`{ workloads(resource_group: "${GROUP}", first: 1000) { edges { node { user } } } }`);
  const owners = workloads.edges.map(({ node }) => node.user);
  const leaving = owners[0] ?? "";
  await goto(`${GROUP}/whatif`);
  await page.getByRole("button", { name: "Add a user" }).click();
  await page.getByLabel("User who comes").fill("nora");
  await page.getByLabel("Project to come into").fill("brand-new");
  await page.getByLabel("Domain, if the project is new").fill("industry");
  await page.getByRole("button", { name: "Remove a user" }).click();
  await page.getByLabel("User who goes").fill(leaving);
  const preview = page.getByRole("region", { name: "What would change" });
  // The user who goes may have had the very rank that the user who comes has.
  await preview.getByText(/would rise|no user's rank/).waitFor();
  await page.getByText("Users come with their first kernel").waitFor();
  // A user who is gone has no pending work; the domain is less busy then, so that others may start in another order,
  // depending on the hour of the demo.
  const staying = owners.filter((owner) => owner !== leaving).length;
  expect(staying).toBeLessThan(owners.length);
  await preview.getByText(new RegExp(`of ${staying} pending workloads would start in another order|would start in the same order`)).waitFor();
  await page.getByRole("button", { name: "Start again" }).click();

  await page.getByRole("button", { name: "Add a weight" }).click();
  await page.getByLabel("Name of the domain").fill("education");
  await page.getByLabel("New weight").fill("3");
  await page.getByRole("button", { name: "Change a queue" }).click();
  await page.getByLabel("Name of the queue").fill("vision");
  await page.getByLabel("Quota of CUDA GPUs").fill("12");
  await preview.getByText("would rise").waitFor();
  await page.getByRole("region", { name: "What queues would deserve" }).getByText(/No queue would deserve|Then/).waitFor();
  await page.getByRole("button", { name: "Apply exactly this" }).click();
  await page.getByText("Applied.").waitFor();
  const state = async () => [await weightOf("education"), gpusOf(await quotaOf("vision"))];
  expect(await state()).toEqual(["3", "12"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(state).toEqual(["0.5", "8"]);
  expect(complaints).toEqual([]);
  await leave();
});

it("the overview, the jobs and the pages of people have a gap to show", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/overview`);
  await page.getByText(/for 2\.3 h/).waitFor();
  await goto(`${GROUP}/jobs`);
  await page.getByRole("table", { name: "Gaps, newest first" }).waitFor();
  expect(complaints).toEqual([]);
  await leave();
});
