// Every page in each theme, in one size each, and with ALL_LOOKS set in both sizes: axe finds nothing serious, nothing sticks out,
// nothing complains. With SHOTS set, pictures are kept in that folder; with SHOTS_OF only some, as the documentation
// has them.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { adminKey, keyOf, type Look, person, type Person, shutDown } from "./browser.ts";
import { everyPage, GROUP, pagesOf } from "./pages.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const DESKTOP_SIZE = { width: 1440, height: 900 };
const PHONE_SIZE = { width: 390, height: 844 };
const LOOKS: Look[] = [
  { ...DESKTOP_SIZE, theme: "light" },
  { ...PHONE_SIZE, theme: "dark" },
];
if (process.env["ALL_LOOKS"]) LOOKS.push({ ...DESKTOP_SIZE, theme: "dark" }, { ...PHONE_SIZE, theme: "light" });
const SHOTS = process.env["SHOTS"];
const SHOTS_OF = process.env["SHOTS_OF"]?.split(",");

function isKept(name: string, at: Look): boolean {
  return SHOTS_OF === undefined || (SHOTS_OF.includes(name) && at.width === 1440 && at.theme === "light");
}

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

/** The serious and critical findings of axe. It is put in as the debugger does it, which the policy of the page does not forbid. */
async function axe({ page }: Person): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  await session.detach();
  const found = await page.evaluate(async () => {
    const { run } = (globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: unknown[] }> } }).axe;
    // Rules that hold are not described element by element, which takes longer than to find them.
    return (await run({ resultTypes: ["violations"] })).violations;
  });
  const serious = (found as Violation[]).filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html} (${node.failureSummary ?? ""})`).join("; ")}`);
}

async function look(person: Person, name: string, path: string, at: Look): Promise<void> {
  await person.goto(path);
  const wider = await person.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wider, `${name} sticks out`).toBeLessThanOrEqual(1);
  expect(await axe(person), name).toEqual([]);
  expect([...person.complaints, ...person.refusals], name).toEqual([]);
  if (SHOTS && isKept(name, at)) {
    mkdirSync(SHOTS, { recursive: true });
    await person.page.screenshot({ path: join(SHOTS, `${name}-${at.width}-${at.theme}.png`), fullPage: at.width < 1000 });
  }
}

afterAll(shutDown);

describe.each(LOOKS)("at $width pixels, $theme", (at) => {
  it("every page of an admin is well", async () => {
    const admin = await person(adminKey(), at);
    for (const [name, path] of await everyPage()) await look(admin, name, path, at);
    await admin.leave();
  });

  it("the reasons for a queue's share are those of the chosen slot, across the row and in few digits", async () => {
    const admin = await person(adminKey(), at);
    const { page, goto } = admin;
    await goto(`${GROUP}/queues?slot=mem`);
    for (const why of await page.getByText("Why?").all()) await why.click();
    const reasons = page.locator(".statements li");
    expect(await reasons.count()).toBeGreaterThan(5);
    for (const text of await reasons.allTextContents()) {
      expect(text).not.toMatch(/\d{5}|\.\d{4}|CPU|GPU/);
      expect(text).not.toContain("last digit");
    }
    expect(await reasons.filter({ hasText: "of memory" }).first().getAttribute("title")).toMatch(/^gets \d{5,}/);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(1);
    if (at.width === 1440) {
      for (const line of await reasons.all()) {
        const { lines, above } = await line.evaluate((item) => {
          const { top, height } = item.getBoundingClientRect();
          const beside = [...(item.closest("tr")?.querySelectorAll("td > *") ?? [])].map((one) => one.getBoundingClientRect().bottom);
          return { lines: height / parseFloat(getComputedStyle(item).lineHeight), above: Math.max(...beside) <= top };
        });
        expect(lines).toBeLessThan(1.5);
        expect(above).toBe(true);
      }
    }
    expect(await axe(admin)).toEqual([]);
    expect(admin.complaints).toEqual([]);
    await admin.leave();
  });

  it("the pages of a user and the sign-in are well", async () => {
    const user = await person(await keyOf("USER", "amelia"), at);
    for (const [name, path] of await pagesOf("amelia")) {
      await look(user, name, path, at);
      expect(await user.page.getByText("You were not active").count(), name).toBe(0);
    }
    await user.leave();
    const visitor = await person(null, at);
    await look(visitor, "sign-in", "", at);
    await visitor.leave();
  });
});
