// Where everyone stood before: ranks that moved, histories, and pages as of a past day.
import { afterAll, expect, it } from "vitest";
import { percent } from "../src/lib/numbers.ts";
import { address, adminKey, graphql, keyOf, launch, person, settled, shutDown } from "./browser.ts";
import { daysAgo, GROUP, keepDivision } from "./pages.ts";

afterAll(shutDown);


interface Share {
  user_uuid: string;
  user_name: string;
  project_id: string;
  rank: number;
  previous_rank: number | null;
  ranked_count: number;
}

async function users(): Promise<Share[]> {
  const query = `{ user_fair_shares(resource_group: "${GROUP}", first: 100) { edges { node { user_uuid user_name project_id rank previous_rank ranked_count } } } }`;
  const answer = await graphql<{ user_fair_shares: { edges: { node: Share }[] } }>(query);
  return answer.user_fair_shares.edges.map((edge) => edge.node);
}

const moved = (share: Share): number => (share.previous_rank ?? share.rank) - share.rank;

it("ranks show how far they moved, by an arrow, a number and words", async () => {
  const all = await users();
  const up = all.find((share) => moved(share) > 0);
  const down = all.find((share) => moved(share) < 0);
  expect(up && down).toBeTruthy();
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares?view=user`);
  for (const share of [up, down]) {
    if (!share) continue;
    const row = page.locator("tr", { has: page.getByRole("link", { name: share.user_name, exact: true }) }).first();
    const by = moved(share);
    const mark = row.locator(".moved");
    expect(await mark.textContent()).toContain(`${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`);
    expect(await mark.getAttribute("title")).toMatch(new RegExp(`^${by > 0 ? "up" : "down"} ${Math.abs(by)} ranks? since the end of .* from rank ${share.previous_rank}$`));
    expect(await row.textContent()).toContain(`of ${share.ranked_count}`);
  }
  expect(complaints).toEqual([]);
  await leave();
});

it("the overview names who moved most, the farthest first", async () => {
  const all = await users();
  const farthest = Math.max(...all.map(moved));
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/overview`);
  const card = page.locator("section.card", { hasText: "Top movers since yesterday" });
  const first = card.getByRole("table", { name: "Up since the day before" }).locator("tbody tr").first();
  expect(await first.locator(".moved").textContent()).toContain(`▲ ${farthest}`);
  await card.getByRole("table", { name: "Down since the day before" }).locator("tbody tr").first().waitFor();
  await first.getByRole("link").click();
  await page.getByText("Factor and rank over time").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("domains are compared now, over 7 and over 28 days, and the choice is in the address", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/overview`);
  const card = page.locator("section.card", { hasText: "Domains: used against entitled" });
  await card.getByText("Misallocated share:").waitFor();
  expect(await card.locator("dt").allTextContents()).toEqual(["Now", "7 days", "28 days"]);
  for (const figure of await card.locator("dd").allTextContents()) expect(figure).toMatch(/^[\d.]+ %$/);
  const answer = await graphql<{ fairness: { entries: { edges: { node: { domain_name: string; used_share: string } }[] } } }>(
    `{ fairness(resource_group: "${GROUP}", window: "now", tier: DOMAIN) { entries { edges { node { domain_name used_share } } } } }`,
  );
  await card.getByRole("tab", { name: "Now" }).click();
  expect(page.url()).toContain("window=now");
  await card.getByText("What runs at this moment").waitFor();
  for (const { node } of answer.fairness.entries.edges) {
    const line = card.locator(".stack", { has: page.getByRole("link", { name: node.domain_name, exact: true }) });
    expect(await line.textContent()).toContain(`${node.domain_name}${percent(Number(node.used_share))} used`);
  }
  await page.reload();
  expect(await card.getByRole("tab", { name: "Now" }).getAttribute("aria-selected")).toBe("true");
  expect(complaints).toEqual([]);
  await leave();
});

it("a user's page shows factor and rank by day, and when a weight was changed", async () => {
  const priya = (await users()).find((share) => share.user_name === "priya");
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/entity/user/${priya?.user_uuid}.${priya?.project_id}?days=14`);
  const card = page.locator("section.card", { hasText: "Factor and rank over time" });
  await card.locator("canvas").nth(1).waitFor();
  await card.getByText("As a table").nth(1).click();
  expect(await card.getByRole("region", { name: "Rank by day" }).locator("tbody tr").count()).toBe(14);
  await card.getByText("What happened").click();
  await card.getByText("her thesis is due").waitFor();
  expect(complaints).toEqual([]);
  await leave();
  const viewer = await person(await keyOf("VIEWER"));
  await viewer.goto(`${GROUP}/entity/user/${priya?.user_uuid}.${priya?.project_id}`);
  await viewer.page.locator("canvas").nth(1).waitFor();
  expect(await viewer.page.locator("main").textContent()).not.toContain("her thesis is due");
  expect(viewer.complaints).toEqual([]);
  await viewer.leave();
});

it("shares are shown as of a past day, nothing is polled, and nothing can be changed", async () => {
  const day = daysAgo(5);
  const answer = await graphql<{ fair_share_history: { edges: { node: { rank: number; domain_name: string } }[] } }>(
    `{ fair_share_history(resource_group: "${GROUP}", tier: DOMAIN, from: "${day}", to: "${day}", order: RANK) { edges { node { rank domain_name } } } }`,
  );
  const expected = answer.fair_share_history.edges.map(({ node }) => node.domain_name);
  expect(expected.length).toBeGreaterThan(2);
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/shares`);
  await page.getByLabel("Weight of domain research").waitFor();
  await page.getByLabel("or a past day").fill(day);
  await page.getByText("nothing can be changed here").waitFor();
  await page.getByRole("columnheader", { name: "Effective weight" }).waitFor();
  expect(page.url()).toContain(`at=${day}`);
  expect(await page.locator("tbody th a").allTextContents()).toEqual(expected);
  expect(await page.getByLabel("Weight of domain research").count()).toBe(0);
  expect(await page.getByRole("button", { name: "Paste weights" }).count()).toBe(0);
  expect(await page.getByLabel("Live").isDisabled()).toBe(true);
  let asked = 0;
  page.on("request", () => (asked += 1));
  await page.waitForTimeout(4500);
  expect(asked).toBe(0);
  await page.getByRole("button", { name: "Open domain research" }).click();
  await page.getByRole("button", { name: /^Open project/ }).first().click();
  await page.locator("tbody .indent > .leaf").first().waitFor({ state: "attached" });
  await page.getByRole("button", { name: "The day before" }).click();
  await page.waitForURL((url) => url.searchParams.get("at") === daysAgo(6));
  await page.getByRole("button", { name: "Now (live)" }).click();
  await page.getByLabel("Weight of domain research").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("a day of which nothing is kept is said to be empty", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  const long = "2020-01-01";
  await goto(`${GROUP}/shares?at=${long}`);
  await page.getByText("Nothing is kept of 1 Jan 2020").waitFor();
  await goto(`${GROUP}/shares?view=user&at=${long}`);
  await page.getByText("Nothing is kept of 1 Jan 2020").waitFor();
  await goto(`${GROUP}/entity/domain/research?at=${long}`);
  await page.getByText("Nothing is kept of 1 Jan 2020").waitFor();
  await goto(`${GROUP}/fairness?at=${long}`);
  await page.getByText("Usage is not kept until 1 Jan 2020").waitFor();
  await goto(`${GROUP}/queues?at=${long}`);
  await page.getByText("No division of 1 Jan 2020 is kept").waitFor();
  expect(await page.getByRole("button", { name: "Add a queue" }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

it("queues show the division of a day, fairness the window that ends there, and a user where they stood", async () => {
  await keepDivision();
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/queues?at=${daysAgo(0)}`);
  await page.getByRole("rowheader", { name: "vision" }).waitFor();
  expect(await page.getByRole("button", { name: "Edit queue vision" }).count()).toBe(0);
  await page.getByText("The history does not keep parents").waitFor();
  const rows = await page.locator("tbody th > div").evaluateAll((names) => names.map((name) => ({ name: name.textContent, left: parseFloat(getComputedStyle(name).paddingLeft) })));
  const { queues } = await graphql<{ queues: { edges: { node: { name: string; parent: string | null } }[] } }>(`{ queues(resource_group: "${GROUP}", first: 100) { edges { node { name parent } } } }`);
  for (const { node } of queues.edges) {
    const at = rows.findIndex(({ name }) => name === node.name);
    const left = rows[at]?.left ?? NaN;
    // The parent is the nearest queue above that stands further to the left.
    expect(rows.slice(0, at).findLast((row) => row.left < left)?.name ?? null, node.name).toBe(node.parent);
  }

  const day = daysAgo(3);
  const answer = await graphql<{ fairness: { misallocated_share: string } }>(`{ fairness(resource_group: "${GROUP}", window: "${daysAgo(9)}..${day}", tier: DOMAIN) { misallocated_share } }`);
  await goto(`${GROUP}/fairness?at=${day}`);
  const figure = page.locator(".figures > div", { hasText: "Misallocated share" }).locator("dd");
  expect(await figure.textContent()).toBe(percent(Number(answer.fairness.misallocated_share)));
  expect(await page.getByRole("tab", { name: "last hour" }).count()).toBe(0);
  expect(await page.getByRole("tab", { name: "now" }).count()).toBe(0);

  // The first user of today may not have been there on that day.
  const then = await graphql<{ fair_share_history: { edges: { node: { user_uuid: string; project_id: string; rank: number } }[] } }>(
    `{ fair_share_history(resource_group: "${GROUP}", tier: USER, from: "${day}", to: "${day}", first: 1) { edges { node { user_uuid project_id rank } } } }`,
  );
  const one = then.fair_share_history.edges[0]?.node;
  await goto(`${GROUP}/entity/user/${one?.user_uuid}.${one?.project_id}?at=${day}`);
  await settled(page);
  const rank = page.locator(".figures > div", { has: page.locator("dt", { hasText: /^Rank$/ }) }).locator("dd");
  await expect.poll(() => rank.textContent()).toMatch(new RegExp(`^${one?.rank} of \\d+`));
  expect(await page.getByText("How the factor comes about").count()).toBe(0);
  expect(complaints).toEqual([]);
  await leave();
});

/** The day after the last one before today on which summer time began or ended in Europe. An axis begins half a day before its first bar. */
function afterSwitch(): string {
  const noon = (days: number): string => new Date(`${daysAgo(days)}T12:00:00Z`).toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin" });
  let days = 1;
  while (noon(days) === noon(days + 1)) days += 1;
  return daysAgo(days - 1);
}

/** The texts of each chart of a page, and their places, in a browser of this zone. A canvas cannot be read, so its texts are recorded as they are written. */
async function written(timezoneId: string, path: string): Promise<string[][]> {
  const context = await (await launch()).newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", timezoneId });
  await context.addInitScript(() => {
    const texts = new Map<HTMLCanvasElement, string[]>();
    const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function (...where) {
      texts.set(this.canvas, []);
      clearRect.apply(this, where);
    };
    CanvasRenderingContext2D.prototype.fillText = function (...what) {
      texts.get(this.canvas)?.push(`${what[0]} at ${Math.round(what[1])}`);
      fillText.apply(this, what);
    };
    Object.assign(globalThis, { written: () => [...document.querySelectorAll("canvas")].map((canvas) => texts.get(canvas) ?? []) });
  });
  const page = await context.newPage();
  await page.goto(`${address()}/ui/#key=${adminKey()}`);
  await page.locator(".page").first().waitFor();
  await page.goto(`${address()}/ui/${path}`);
  await page.locator("canvas").nth(2).waitFor();
  await settled(page);
  const all = await page.evaluate(() => (globalThis as unknown as { written: () => string[][] }).written());
  await context.close();
  return all.map((texts) => texts.filter((text) => /^\d+ [A-Z][a-z]+ at /.test(text)));
}

it("charts name days of UTC in every zone, also where summer time began or ended", async () => {
  const priya = (await users()).find((share) => share.user_name === "priya");
  const path = `${GROUP}/entity/user/${priya?.user_uuid}.${priya?.project_id}?from=${afterSwitch()}&to=${daysAgo(0)}`;
  const expected = await written("UTC", path);
  expect(expected.map((days) => days.length > 0)).toEqual([true, true, true]);
  for (const zone of ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]) expect(await written(zone, path), zone).toEqual(expected);
});
