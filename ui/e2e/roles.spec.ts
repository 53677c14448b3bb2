// Writes that a role may not make are not offered on any page, and are refused to its key.
import { afterAll, expect, it } from "vitest";
import { address, adminKey, graphql, keyOf, person, settled, shutDown } from "./browser.ts";
import { halfLife, setWeight, weightOf } from "./configured.ts";
import { GROUP } from "./pages.ts";

afterAll(shutDown);

const SCENARIO = Buffer.from(JSON.stringify({ weights: [{ tier: "domain", name: "research", project: "", weight: "20" }] })).toString("base64url");
const group = `resource_group: "${GROUP}"`;
const json = (value: unknown): string => JSON.stringify(JSON.stringify(value));

/** Every write that a page offers to an admin. */
async function writes(): Promise<string[]> {
  const answer = await graphql<{ audit_log: { edges: { node: { id: string } }[] }; keys: { edges: { node: { key_id: string } }[] } }>(
    `{ audit_log(${group}, action: "weights.put", first: 1) { edges { node { id } } } keys(last: 1) { edges { node { key_id } } } }`,
  );
  const entry = answer.audit_log.edges[0]?.node.id;
  const key = answer.keys.edges[0]?.node.key_id;
  return [
    `upsert_domain_fair_share(${group}, domain_name: "research", weight: "9") { weight }`,
    `reset_fair_share_weight(${group}, target_type: DOMAIN, target_id: "research")`,
    `update_scheduler_options(${group}, scheduler_opts: ${json({ half_life_days: 3 })}) { name }`,
    `apply_fair_share_simulation(${group}, input: ${json({ weights: [{ target_type: "domain", domain_name: "research", weight: "20" }] })})`,
    `upsert_queues(${group}, queues: [{ name: "vision", quota: "{}" }]) { changed_count }`,
    `delete_queue(${group}, name: "vision")`,
    `run_job(name: "aggregate", ${group}) { status }`,
    `undo_change(id: "${entry}") { id }`,
    `create_key(role: ADMIN, label: "mine") { key }`,
    `revoke_key(id: "${key}")`,
  ];
}

it("a viewer and a user are offered no write on any page, and each write is refused to their keys", async () => {
  const before = await weightOf("research");
  await setWeight("research", "5");
  await setWeight("research", before);
  const refused = await writes();
  for (const [role, key] of [["viewer", await keyOf("VIEWER")], ["user", await keyOf("USER", "amelia")]] as const) {
    const { page, complaints, leave } = await person(key);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    const open = async (path: string) => {
      await page.goto(`${address()}/ui/${GROUP}/${path}`);
      await page.locator(".page, main .empty").first().waitFor();
      await settled(page);
    };
    const isClosed = () => page.getByText(`A key with the role ${role} does not reach it.`).waitFor();
    const offers = async (name: RegExp) => expect(await page.getByRole("button", { name }).count(), `${role}: ${name}`).toBe(0);

    for (const closed of ["audit", "keys"]) {
      await open(closed);
      await isClosed();
      expect(await page.getByRole("link", { name: new RegExp(`^${closed}$`, "i") }).count()).toBe(0);
      await offers(/undo|make a key|revoke/i);
    }
    await open("settings");
    if (role === "viewer") {
      await page.getByText("Your key may read these settings. An admin may change them.").waitFor();
      expect(await page.locator("main :is(input, select, textarea):enabled").count()).toBe(0);
    } else await isClosed();
    await open(`whatif?s=${SCENARIO}`);
    if (role === "viewer") await page.getByRole("region", { name: "What would change" }).getByText("would rise").waitFor();
    else await isClosed();
    await offers(/apply/i);
    expect(await page.getByLabel("Reason, for the audit log").count()).toBe(0);
    await open("queues");
    if (role === "viewer") await page.getByRole("rowheader", { name: "vision" }).waitFor();
    else await isClosed();
    await offers(/^(edit|add) /i);
    await open("jobs");
    if (role === "viewer") await page.getByRole("table", { name: "Jobs and their last runs" }).waitFor();
    else await isClosed();
    await offers(/^run .* now$/i);
    await open("shares");
    if (role === "viewer") await page.getByRole("link", { name: "research" }).waitFor();
    else await isClosed();
    await offers(/paste weights/i);
    expect(await page.getByLabel(/^Weight of /).count()).toBe(0);

    for (const write of refused) await expect(graphql(`mutation { ${write} }`, key), `${role}: ${write}`).rejects.toThrow("forbidden");
    expect(complaints).toEqual([]);
    await leave();
  }
  expect(await weightOf("research")).toBe(before);
  expect(await halfLife()).toBe(7);
});

it("an admin is offered each of them, so that the walk looks for what is there", async () => {
  const { page, goto, leave } = await person(adminKey());
  for (const [path, name] of [
    [`whatif?s=${SCENARIO}`, /apply/i], ["queues", /^edit /i], ["queues", /^add /i], ["jobs", /^run .* now$/i], ["shares", /paste weights/i], ["audit?action=weights.put", /undo/i], ["keys", /make a key/i], ["keys", /revoke/i],
  ] as const) {
    await goto(`${GROUP}/${path}`);
    await page.getByRole("button", { name }).first().waitFor();
  }
  await leave();
});
