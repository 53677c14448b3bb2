// The overview of a day that is over.
import { afterAll, expect, it } from "vitest";
import { percent } from "../src/lib/numbers.ts";
import { adminKey, graphql, person, settled, shutDown } from "./browser.ts";
import { setOrder } from "./configured.ts";
import { daysAgo, GROUP } from "./pages.ts";

afterAll(shutDown);


interface Moved {
  user_name: string;
  rank: number;
  previous_rank: number;
}

interface PastOverview {
  fairness: { misallocated_share: string; entries: { edges: { node: { domain_name: string; used_share: string } }[] } };
  fair_share_history: { count: number; edges: { node: { user_name: string; rank: number } }[] };
  rank_movers_of_day: { since: string; up: Moved[]; down: Moved[] };
  usage_report: { edges: { node: { capacity_share: string } }[] };
}

it("the overview shows a past day: its capacity, its domains, and who was first and last", async () => {
  const day = daysAgo(4);
  const answer = await graphql<PastOverview>(`{
    fairness(resource_group: "${GROUP}", window: "${daysAgo(10)}..${day}", tier: DOMAIN) { misallocated_share entries { edges { node { domain_name used_share } } } }
    fair_share_history(resource_group: "${GROUP}", tier: USER, from: "${day}", to: "${day}", order: RANK, first: 1000) { count edges { node { user_name rank } } }
    rank_movers_of_day(resource_group: "${GROUP}", day: "${day}") { since up { user_name rank previous_rank } down { user_name rank previous_rank } }
    usage_report(resource_groups: ["${GROUP}"], from: "${day}", to: "${day}", by: [RESOURCE_GROUP]) { edges { node { capacity_share } } }
  }`);
  const ranking = answer.fair_share_history.edges.map((edge) => edge.node);
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/overview`);
  await page.getByLabel("or a past day").fill(day);
  await page.getByText("nothing can be changed here").waitFor();
  const domains = page.locator("section.card", { hasText: "Domains: used against entitled" });
  await domains.getByText("That day", { exact: true }).first().waitFor();
  await settled(page);
  expect(page.url()).toContain(`at=${day}`);
  expect(await page.getByLabel("Live").isDisabled()).toBe(true);
  expect(await domains.locator("dt").allTextContents()).toEqual(["That day", "7 days", "28 days"]);
  expect(await domains.locator("dd").nth(1).textContent()).toBe(percent(Number(answer.fairness.misallocated_share)));
  for (const { node } of answer.fairness.entries.edges) {
    const line = domains.locator(".stack", { has: page.getByRole("link", { name: node.domain_name, exact: true }) });
    expect(await line.textContent()).toContain(`${node.domain_name}${percent(Number(node.used_share))} used`);
  }
  const first = page.getByRole("table", { name: "First in line" }).locator("tbody");
  expect(await first.locator("th a").allTextContents()).toEqual(ranking.slice(0, 5).map((row) => row.user_name));
  const last = page.getByRole("table", { name: "Last in line" }).locator("tbody");
  expect(await last.locator("th a").allTextContents()).toEqual(ranking.slice(-5).toReversed().map((row) => row.user_name));
  const { since, up, down } = answer.rank_movers_of_day;
  expect([since, up.length > 0 && down.length > 0]).toEqual([daysAgo(5), true]);
  const movers = page.locator("section.card", { hasText: "Top movers of that day" });
  for (const [name, rows, sign] of [["Up", up, "▲"], ["Down", down, "▼"]] as const) {
    const list = movers.getByRole("table", { name: `${name} since the day before` }).locator("tbody tr");
    expect(await list.locator("th a").allTextContents()).toEqual(rows.map((row) => row.user_name));
    const moves = await list.locator(".moved").allTextContents();
    rows.forEach((row, at) => expect(moves[at]).toContain(`${sign} ${Math.abs(row.previous_rank - row.rank)}`));
  }
  const used = JSON.parse(answer.usage_report.edges[0]?.node.capacity_share ?? "{}") as Record<string, string>;
  const card = page.locator("section.card", { hasText: "Capacity and use of that day" });
  for (const part of Object.values(used)) await card.getByText(`${percent(Number(part))} of the day's capacity used`).first().waitFor();

  let asked = 0;
  page.on("request", () => (asked += 1));
  await page.waitForTimeout(4500);
  expect(asked).toBe(0);
  await page.getByRole("button", { name: "The day before" }).click();
  await page.waitForURL((url) => url.searchParams.get("at") === daysAgo(5));
  await page.getByRole("button", { name: "Now (live)" }).click();
  await page.getByText("Capacity and use now").waitFor();
  await goto(`${GROUP}/overview?at=2020-01-01`);
  await page.getByText("Nothing is kept of 1 Jan 2020").waitFor();
  expect(complaints).toEqual([]);
  await leave();
});

it("a warning is a sentence", async () => {
  // The demo has nothing to warn of: its domains have different weights, and the order that delivers them.
  await setOrder("flat");
  const { page, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/overview`);
  const warning = page.locator(".note.warn", { hasText: "different weights" });
  expect(await warning.locator("span").textContent()).toMatch(/^Domains have .*, but order is flat: .*\.$/);
  expect(await warning.locator("code").first().textContent()).toBe("order");
  await setOrder("tiered");
  await leave();
});

it("settings say why there is none of a past day", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/settings`);
  await page.getByText("those of past days are not kept").waitFor();
  await page.locator("main").getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { name: "Audit" }).waitFor();
  expect(new URL(page.url()).searchParams.get("action")).toBe("scheduler_options.patch");
  expect(complaints).toEqual([]);
  await leave();
});
