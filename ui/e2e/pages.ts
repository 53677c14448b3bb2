// Every page with an address that shows most of it.
import { expect } from "vitest";
import { graphql } from "./browser.ts";

export const GROUP = "gpu-cluster";

/** The weight of research raised to 20, as an address holds it. */
const SCENARIO = Buffer.from(JSON.stringify({ weights: [{ tier: "domain", name: "research", project: "", weight: "20" }] })).toString("base64url");

/** The day this number of days before today, in UTC. */
export const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/** Keeps the division of this moment. While other jobs take their turns for long, the server asks to try again. */
export async function keepDivision(): Promise<void> {
  const divide = () => graphql(`mutation { run_job(name: "divide", resource_group: "${GROUP}") { status } }`);
  await expect.poll(() => divide().then(() => "kept", (error: Error) => error.message), { timeout: 60_000 }).toBe("kept");
}

/** The name of each page, and its address. Of today a division is kept, so that queues of a day can be seen. */
export async function everyPage(): Promise<[string, string][]> {
  const query = `{ user_fair_shares(resource_group: "${GROUP}", last: 1) { edges { node { user_uuid project_id } } } }`;
  const answer = await graphql<{ user_fair_shares: { edges: { node: { user_uuid: string; project_id: string } }[] } }>(query);
  const last = answer.user_fair_shares.edges[0]?.node;
  await keepDivision();
  const before = daysAgo(3);
  return [
    ["overview", `${GROUP}/overview`],
    ["shares", `${GROUP}/shares?open=domain%3Aresearch`],
    ["users", `${GROUP}/shares?view=user`],
    ["entity", `${GROUP}/entity/user/${last?.user_uuid}.${last?.project_id}`],
    ["domain", `${GROUP}/entity/domain/research`],
    ["explain", `${GROUP}/explain/user/${last?.user_uuid}.${last?.project_id}`],
    ["explain-choice", `${GROUP}/explain`],
    ["explain-domain", `${GROUP}/explain/domain/research`],
    ["entity-past", `${GROUP}/entity/user/${last?.user_uuid}.${last?.project_id}?at=${before}`],
    ["overview-past", `${GROUP}/overview?at=${before}`],
    ["shares-past", `${GROUP}/shares?open=domain%3Aresearch&at=${before}`],
    ["queues-past", `${GROUP}/queues?at=${before}`],
    ["queues-today", `${GROUP}/queues?at=${daysAgo(0)}`],
    ["fairness-past", `${GROUP}/fairness?at=${before}`],
    ["queues", `${GROUP}/queues?plan=1`],
    ["pending", `${GROUP}/pending`],
    ["fairness", `${GROUP}/fairness`],
    ["reports", `${GROUP}/reports`],
    ["whatif", `${GROUP}/whatif?s=${SCENARIO}`],
    ["settings", `${GROUP}/settings`],
    ["connectors", `${GROUP}/connectors`],
    ["jobs", `${GROUP}/jobs`],
    ["audit", `${GROUP}/audit`],
    ["keys", `${GROUP}/keys`],
  ];
}

/** The pages that a key of this user has, each with an address that shows most of it. */
export async function pagesOf(user: string): Promise<[string, string][]> {
  const query = `{ user_fair_shares(resource_group: "${GROUP}", first: 1, filter: { user_name: { equals: "${user}" } }) { edges { node { user_uuid project_id } } } }`;
  const answer = await graphql<{ user_fair_shares: { edges: { node: { user_uuid: string; project_id: string } }[] } }>(query);
  const own = answer.user_fair_shares.edges[0]?.node;
  return [
    ["mine", `${GROUP}/mine`],
    ["mine-pending", `${GROUP}/pending`],
    ["mine-fairness", `${GROUP}/fairness`],
    ["mine-explain", `${GROUP}/explain/user/${own?.user_uuid}.${own?.project_id}`],
    ["mine-entity", `${GROUP}/entity/user/${own?.user_uuid}.${own?.project_id}`],
  ];
}
