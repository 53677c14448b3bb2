// The first hour of a server: no group is there, and everything that leads to one is on the page.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import { DESKTOP, person, shutDown, type Look } from "./browser.ts";
import { emptyServer, type OwnServer } from "./server.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PHONE: Look = { width: 390, height: 844, theme: "dark" };

let server: OwnServer;

beforeEach(async () => {
  server = await emptyServer();
});
afterEach(() => server.stop());
afterAll(shutDown);

async function call(path: string, key = server.key, init: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${server.address}${path}`, { ...init, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" } });
  return { status: answer.status, body: await answer.json().catch(() => null) };
}

const keyOf = async (role: string, more: object = {}): Promise<string> => ((await call("/keys", server.key, { method: "POST", body: JSON.stringify({ role, label: role, ...more }) })).body as { key: string }).key;

/** Runs a line of the page as a shell does, with a key in the environment. */
function run(line: string, key: string): unknown {
  return JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8", env: { PATH: process.env["PATH"] ?? "", FAIRSHARED_KEY: key } }));
}

it("an admin makes the first group and the key of its scheduler, and the lines that follow run as they are", async () => {
  const { page, complaints, refusals, leave } = await person(server.key, DESKTOP, server.address);
  await page.getByRole("heading", { name: "Make the first resource group" }).waitFor();
  const menu = page.getByRole("navigation", { name: "Pages" });
  expect(await menu.getByRole("link").allTextContents()).toEqual(["Start", "Audit", "Keys"]);
  expect(await menu.textContent()).toContain("Shares");
  await page.getByRole("button", { name: "Sign out" }).waitFor();

  const name = page.getByLabel("Name of the group");
  await page.getByRole("button", { name: "Make the group" }).click();
  await page.getByText("A group needs a name.").waitFor();
  expect(await name.getAttribute("aria-invalid")).toBe("true");
  expect(await name.evaluate((input) => input === document.activeElement)).toBe(true);
  await name.fill("a/b");
  await page.getByText("no slash").waitFor();
  expect(((await call("/resource-groups")).body as { items: unknown[] }).items).toEqual([]);

  await name.fill("gpu pool");
  await page.getByRole("button", { name: "Make the group" }).click();
  await page.getByText("Copy it now. It is not shown again.").waitFor();
  expect(await page.locator("main").textContent()).not.toContain("This server has none");
  const key = (await page.getByLabel("the key", { exact: true }).textContent())?.trim() ?? "";
  expect(key).toMatch(/^fsk_/);
  const whoami = (await call("/whoami", key)).body as { role: string; resource_groups: string[] };
  expect([whoami.role, whoami.resource_groups]).toEqual(["scheduler", ["gpu pool"]]);

  const agent = (await page.getByLabel("the line that reports a node", { exact: true }).textContent()) ?? "";
  const kernel = (await page.getByLabel("the line that reports a kernel", { exact: true }).textContent()) ?? "";
  expect(run(agent, server.key)).toMatchObject({ agent_id: "node-01" });
  expect(run(kernel, key)).toMatchObject({ accepted: 1 });
  await page.getByRole("button", { name: "Open gpu pool" }).click();
  await page.waitForURL(/\/overview$/);
  await page.getByText("CUDA GPUs").first().waitFor();
  await page.getByRole("link", { name: "Shares", exact: true }).click();
  await page.getByRole("link", { name: "earth" }).waitFor();
  expect([...complaints, ...refusals]).toEqual([]);
  await leave();
});

it("an empty server says nothing that is not so, to any role, and follows what others make", async () => {
  for (const [role, key] of [["viewer", await keyOf("viewer")], ["scheduler", await keyOf("scheduler", { resource_groups: ["far", "near"] })], ["user", await keyOf("user", { user: "alice" })]] as const) {
    const { page, complaints, leave } = await person(key, PHONE, server.address);
    await page.getByRole("heading", { name: "There is nothing to show yet" }).waitFor();
    const text = (await page.locator("main").textContent()) ?? "";
    expect(text, role).not.toContain("first report");
    expect(text.includes("Your key shows the groups far, near"), role).toBe(role === "scheduler");
    expect(await page.getByRole("button", { name: "Make the group" }).count(), role).toBe(0);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    expect(complaints).toEqual([]);
    await leave();
  }
  // The sentence of the page about reports is true: they are refused, and make no group.
  const report = await call("/resource-groups/gpu/kernels", server.key, { method: "POST", body: "[]" });
  expect(report.status).toBe(404);
  const { page, leave } = await person(server.key, DESKTOP, server.address);
  await page.getByRole("heading", { name: "Make the first resource group" }).waitFor();
  await call("/resource-groups/elsewhere", server.key, { method: "PUT", body: "{}" });
  await page.waitForURL(/\/ui\/elsewhere\/overview/);
  await leave();
});

it.each([DESKTOP, PHONE])("the start at $width pixels is well, and so are the pages of the server", async (look) => {
  const { page, complaints, leave } = await person(server.key, look, server.address);
  for (const path of ["", "keys", "audit"]) {
    await page.goto(`${server.address}/ui/${path}`);
    await page.locator(".page").waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), path).toBeLessThanOrEqual(1);
    const session = await page.context().newCDPSession(page);
    await session.send("Runtime.evaluate", { expression: AXE });
    await session.detach();
    const found = await page.evaluate(async () => (await (globalThis as unknown as { axe: { run: () => Promise<{ violations: { id: string; impact: string }[] }> } }).axe.run()).violations);
    expect(found.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id), path).toEqual([]);
  }
  expect(complaints).toEqual([]);
  await leave();
});

it("one's own key goes only with its label typed, and the last admin key only nevertheless", async () => {
  const { page, complaints, leave } = await person(server.key, DESKTOP, server.address);
  await page.getByRole("link", { name: "Keys" }).click();
  const own = page.getByRole("row", { name: /yours/ });
  const dialog = page.getByRole("dialog");
  const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
  const works = async () => (await call("/whoami")).status;
  await own.getByRole("button", { name: "Revoke" }).click();
  await dialog.getByText("You are signed in with this key.").waitFor();
  const label = dialog.getByLabel("Type the label of the key");
  await press("Revoke");
  await dialog.getByText("This is not “test”.").waitFor();
  expect(await label.evaluate((input) => input === document.activeElement)).toBe(true);
  await label.fill("Test");
  await press("Revoke");
  expect(await works()).toBe(200);
  await label.fill("test");
  await press("Revoke");
  await dialog.getByText("this is the last valid admin key that reaches all groups").waitFor();
  expect(await works()).toBe(200);
  expect(await label.inputValue()).toBe("");
  await press("Revoke it nevertheless");
  await dialog.getByText("This is not “test”.").waitFor();
  expect(await works()).toBe(200);
  await press("Cancel");

  // Another one that works lets it go, after its label is typed.
  await keyOf("admin");
  await page.reload();
  await own.getByRole("button", { name: "Revoke" }).click();
  await label.fill("test");
  await press("Revoke");
  await page.getByText("The key that you signed in with was revoked.").waitFor();
  expect(await works()).toBe(401);
  expect(complaints).toEqual([]);
  await leave();
});

it("the last admin key goes once that is said on purpose", async () => {
  const { page, leave } = await person(server.key, DESKTOP, server.address);
  await page.getByRole("link", { name: "Keys" }).click();
  await page.getByRole("button", { name: /^Revoke test/ }).click();
  const dialog = page.getByRole("dialog");
  const label = dialog.getByLabel("Type the label of the key");
  await label.fill("test");
  await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
  await dialog.getByRole("button", { name: "Revoke it nevertheless" }).waitFor();
  await label.fill("test");
  await dialog.getByRole("button", { name: "Revoke it nevertheless" }).click();
  await page.getByText("The key that you signed in with was revoked.").waitFor();
  expect((await call("/whoami")).status).toBe(401);
  await leave();
});
