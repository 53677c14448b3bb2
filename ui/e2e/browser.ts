// A person at a browser. A complaint of the page, or a request to another host, fails the test.
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { inject } from "vitest";

const NAMES = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

let browser: Browser | undefined;

export async function launch(): Promise<Browser> {
  const executablePath = NAMES.find((name) => name && existsSync(name));
  if (!executablePath) throw new Error("the tests need Chromium: install the package `chromium`, or name the program in CHROMIUM");
  browser ??= await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
  });
  return browser;
}

export async function shutDown(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

export interface Look {
  width: number;
  height: number;
  theme: "light" | "dark";
}

export const DESKTOP: Look = { width: 1440, height: 900, theme: "light" };

export interface Person {
  context: BrowserContext;
  page: Page;
  /** The complaints of the page so far. */
  complaints: string[];
  /** The refusals of the server so far, as the browser logs them: only tests that provoke a refusal have any. */
  refusals: string[];
  goto: (path: string) => Promise<void>;
  leave: () => Promise<void>;
}

export const address = (): string => inject("address");
export const adminKey = (): string => inject("key");
export const program = (): string => inject("program");

const people = new Set<Person>();

/** The people whose pages are open. */
export const openPeople = (): Person[] => [...people];

/** A browser of its own that is signed in with `key`. */
export async function person(key: string | null, look: Look = DESKTOP, at = address()): Promise<Person> {
  const context = await (await launch()).newContext({ viewport: { width: look.width, height: look.height }, colorScheme: look.theme, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  const refusals: string[] = [];
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    (message.text().startsWith("Failed to load resource") ? refusals : complaints).push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(at) && !request.url().startsWith("data:")) complaints.push(`asked for ${request.url()}`);
  });
  const goto = async (path: string) => {
    await page.goto(`${at}/ui/${path}`);
    await page.locator(".page, form.card").first().waitFor();
    await settled(page);
  };
  await page.goto(`${at}/ui/${key ? `#key=${key}` : ""}`);
  await page.locator(".page, form.card, .empty").first().waitFor();
  const someone: Person = { context, page, complaints, refusals, goto, leave: () => context.close() };
  people.add(someone);
  context.on("close", () => people.delete(someone));
  return someone;
}

/** Waits until nothing is being loaded. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
}

export async function graphql<T>(query: string, key = adminKey()): Promise<T> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const answer = await fetch(`${address()}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const { data, errors } = (await answer.json()) as { data: T; errors?: { message: string; extensions?: { code?: string } }[] };
  if (errors?.[0]) throw new Error(errors[0].extensions?.code ?? errors[0].message);
  return data;
}

/** A key of a role, made by the admin. */
export async function keyOf(role: "VIEWER" | "USER", user?: string): Promise<string> {
  const label = `${role.toLowerCase()} of a test`;
  const answer = await graphql<{ create_key: { key: string } }>(`mutation { create_key(role: ${role}, label: "${label}"${user ? `, user: "${user}"` : ""}) { key } }`);
  return answer.create_key.key;
}

/** Prints what was measured. Tests do not judge it, since it is the machine's. */
export function figure(text: string): void {
  process.stdout.write(`figure: ${text}\n`);
}
