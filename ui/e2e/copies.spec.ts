// The texts that pages let one copy are run as they are: GraphQL and curl against the server, commands with the real program.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { address, adminKey, graphql, keyOf, person, program, shutDown, type Person } from "./browser.ts";
import { everyPage, GROUP } from "./pages.ts";

afterAll(shutDown);

const run = promisify(execFile);

/** The result of a line in a shell: `curl` prints its words, `fairshared` is the program. */
async function inShell(line: string): Promise<string> {
  const names = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\nfairshared() { "$PROGRAM" "$@"; }\n`;
  const { stdout } = await run("sh", ["-c", names + line], { env: { PATH: process.env["PATH"] ?? "", FAIRSHARED_KEY: adminKey(), PROGRAM: program() }, maxBuffer: 1 << 26 });
  return stdout;
}

/** The answer to a copied `curl` line. */
async function curled(line: string): Promise<{ status: number; body: string }> {
  const words = (await inShell(line)).split("\0").slice(0, -1);
  const headers: Record<string, string> = {};
  let [url, method, body]: [string, string | undefined, string | undefined] = ["", undefined, undefined];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const next = words[at + 1] ?? "";
    if (word === "-s") continue;
    if (word.startsWith("-")) at++;
    if (word === "-X") method = next;
    else if (word === "-d") body = next;
    else if (word === "-H") headers[next.split(": ")[0] ?? ""] = next.split(": ")[1] ?? "";
    else url = word;
  }
  const answer = await fetch(url, { method: method ?? "GET", headers, ...(body === undefined ? {} : { body }) });
  return { status: answer.status, body: await answer.text() };
}

/** The answer to a copied document, with the variables that stand below it. */
async function queried(text: string): Promise<unknown> {
  const variables: unknown = JSON.parse(/# Variables:\n# (.*)$/.exec(text)?.[1] ?? "{}");
  const headers = { Authorization: `Bearer ${adminKey()}`, "Content-Type": "application/json" };
  const answer = await fetch(`${address()}/graphql`, { method: "POST", headers, body: JSON.stringify({ query: text, variables }) });
  const { data, errors } = (await answer.json()) as { data: unknown; errors?: unknown[] };
  expect(errors, text).toBeUndefined();
  return data;
}

/** Chooses an entry of a menu, and returns what is in the clipboard then. */
async function copied({ page }: Person, what: string, form: string): Promise<string> {
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.getByRole("button", { name: "Copy as" }).and(page.getByTitle(`Copy ${what} as a text`)).first().click();
  await page.getByRole("menuitem", { name: `Copy as ${form}` }).click();
  await page.getByText(`Copied as ${form}`).first().waitFor();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).not.toBe("");
  return page.evaluate(() => navigator.clipboard.readText());
}

async function reader(): Promise<Person> {
  const someone = await person(adminKey());
  await someone.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  return someone;
}

it("what a page asks can be asked elsewhere, on every page", async () => {
  const someone = await reader();
  for (const [name, path] of await everyPage()) {
    await someone.goto(path);
    const what = name === "whatif" ? "this question" : "what this page asks";
    await queried(await copied(someone, what, "GraphQL"));
    const answer = await curled(await copied(someone, what, "curl"));
    expect(answer.status, `${name}: ${answer.body}`).toBe(200);
    expect((await inShell(await copied(someone, what, "a command"))).length, name).toBeGreaterThan(10);
  }
  expect(someone.complaints).toEqual([]);
  await someone.leave();
});

const weightOf = async (domain: string): Promise<string | null> => {
  const answer = await graphql<{ domain_fair_share: { configured_weight: string | null } }>(`{ domain_fair_share(resource_group: "${GROUP}", domain_name: "${domain}") { configured_weight } }`);
  return answer.domain_fair_share.configured_weight;
};

it("a change of weights does the same in all three forms, and so does its undo", async () => {
  const someone = await reader();
  const { page, goto, complaints } = someone;
  for (const form of ["GraphQL", "curl", "a command"]) {
    await goto(`${GROUP}/shares`);
    await page.getByLabel("Weight of domain life-science").fill("7");
    await page.getByLabel("Reason, for the audit log").fill("it's copied");
    await page.getByText("would rise").first().waitFor();
    const text = await copied(someone, "this change", form);
    expect(text).toContain("it");
    if (form === "GraphQL") await queried(text);
    else if (form === "curl") expect((await curled(text)).status).toBe(200);
    else await inShell(text);
    expect(await weightOf("life-science")).toBe("7");
    // The copied text names a configuration that is no more.
    if (form === "curl") expect((await curled(text)).body).toContain("config_changed");

    await goto(`${GROUP}/audit?action=configuration.apply`);
    await page.getByRole("button", { name: /^Undo Applied changes/ }).first().click();
    const undo = await copied(someone, "this undo", form);
    if (form === "GraphQL") await queried(undo);
    else if (form === "curl") expect((await curled(undo)).status).toBe(200);
    else await inShell(undo);
    expect(await weightOf("life-science")).toBeNull();
  }
  expect(complaints).toEqual([]);
  await someone.leave();
});

it("queues, keys, jobs and plans are copied as they are made", async () => {
  const someone = await reader();
  const { page, goto, complaints } = someone;
  await goto(`${GROUP}/queues?plan=1`);
  const plan = page.locator("section.card", { hasText: "A workload that is not there yet" });
  await plan.getByLabel("CPU, cores").fill("4");
  await plan.getByLabel("Queue").selectOption("forecasting");
  expect(await inShell(await copied(someone, "this plan", "a command"))).toMatch(/fits|reclaim|refused/);
  expect((await curled(await copied(someone, "this plan", "curl"))).body).toContain("verdict");

  for (const form of ["curl", "a command", "GraphQL"]) {
    await goto(`${GROUP}/queues`);
    await page.getByRole("button", { name: "Edit queue imaging" }).click();
    await page.getByLabel("Priority").fill("3");
    await page.getByText("No queue would deserve another amount now.").or(page.getByRole("table", { name: "What queues would deserve" })).waitFor();
    const text = await copied(someone, "this write of the queue", form);
    if (form === "GraphQL") await queried(text);
    else if (form === "curl") expect((await curled(text)).status).toBe(200);
    else await inShell(text);
    const answer = await graphql<{ queue: { priority: number } }>(`{ queue(resource_group: "${GROUP}", name: "imaging") { priority } }`);
    expect(answer.queue.priority, form).toBe(3);
    await graphql(`mutation { upsert_queues(resource_group: "${GROUP}", queues: [{name: "imaging", parent: "life-science", quota: "{\\"cuda.device\\": 8, \\"cpu\\": 64}"}]) { changed_count } }`);
  }

  await goto(`${GROUP}/jobs`);
  expect((await curled(await copied(someone, "the run of divide", "curl"))).body).toContain("succeeded");
  expect(await inShell(await copied(someone, "the run of divide", "a command"))).toContain("divide");

  await goto(`${GROUP}/keys`);
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("Label").fill("copied $(key)");
  expect((await inShell(await copied(someone, "the making of this key", "a command"))).trim()).toMatch(/^fsk_/);
  expect((await curled(await copied(someone, "the making of this key", "curl"))).status).toBe(201);
  await goto(`${GROUP}/keys`);
  await page.getByRole("button", { name: "Revoke copied $(key)" }).first().click();
  await inShell(await copied(someone, "the revocation", "a command"));
  await goto(`${GROUP}/keys`);
  await page.getByRole("button", { name: "Revoke copied $(key)" }).click();
  expect((await curled(await copied(someone, "the revocation", "curl"))).status).toBe(204);
  expect(complaints).toEqual([]);
  await someone.leave();
});

it("a menu is used by keyboard, and what is seen is saved as CSV and JSON", async () => {
  const someone = await reader();
  const { page, goto, complaints } = someone;
  await goto(`${GROUP}/shares?view=user`);
  const menu = page.getByRole("button", { name: "Download" });
  await menu.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowDown");
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  expect(file.suggestedFilename()).toBe("gpu-cluster-shares-users-of-the-group.json");
  const rows = JSON.parse(Buffer.concat((await (await file.createReadStream()).toArray()) as Buffer[]).toString()) as Record<string, string>[];
  expect(rows.length).toBe(await page.locator("tbody tr").count());
  expect(Object.keys(rows[0] ?? {})).toEqual(expect.arrayContaining(["Name", "Rank", "Factor", "Weight"]));
  expect(rows[0]?.["Rank"]).toBe("1");
  // The exact factor, not the one that is shown.
  expect(rows.at(-1)?.["Factor"]).toMatch(/^0\.\d{8,}$/);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  expect(await page.evaluate(() => document.querySelector(":popover-open"))).toBeNull();
  for (const [name, path] of (await everyPage()).filter(([name]) => ["pending", "audit", "keys", "jobs", "queues", "entity", "fairness", "overview", "explain", "whatif", "reports"].includes(name))) {
    await goto(path);
    await page.getByRole("button", { name: "Download" }).first().click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "CSV" }).click()]);
    const lines = Buffer.concat((await (await file.createReadStream()).toArray()) as Buffer[]).toString().trim().split("\r\n");
    expect(lines.length, name).toBeGreaterThan(1);
    expect(lines[0], name).not.toMatch(/Undo|Run$/);
  }
  expect(complaints).toEqual([]);
  await someone.leave();
});

it("a key of a user copies what it may ask", async () => {
  const key = await keyOf("USER", "amelia");
  const someone = await person(key);
  await someone.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await someone.goto(`${GROUP}/mine`);
  const text = await copied(someone, "what this page asks", "curl");
  expect(text).not.toContain(key);
  expect(text).toContain("$FAIRSHARED_KEY");
  await someone.leave();
});
