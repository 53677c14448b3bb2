// The configuration of the demo, as the API answers it, and how a test gives it back.
import { graphql } from "./browser.ts";
import { GROUP } from "./pages.ts";

/** `null`: the group's default. */
export async function weightOf(domain: string): Promise<string | null> {
  const answer = await graphql<{ domain_fair_share: { configured_weight: string | null } }>(`{ domain_fair_share(resource_group: "${GROUP}", domain_name: "${domain}") { configured_weight } }`);
  return answer.domain_fair_share.configured_weight;
}

export async function setWeight(domain: string, weight: string | null): Promise<void> {
  await graphql(`mutation { upsert_domain_fair_share(resource_group: "${GROUP}", domain_name: "${domain}", weight: ${JSON.stringify(weight)}) { weight } }`);
}

export async function halfLife(): Promise<number> {
  const answer = await graphql<{ resource_group: { scheduler_opts: string } }>(`{ resource_group(name: "${GROUP}") { scheduler_opts } }`);
  return (JSON.parse(answer.resource_group.scheduler_opts) as { half_life_days: number }).half_life_days;
}

/** Sets how users are compared. The demo's order is tiered. */
export async function setOrder(order: "flat" | "tiered"): Promise<void> {
  await graphql(`mutation { update_scheduler_options(resource_group: "${GROUP}", scheduler_opts: "{\\"order\\": \\"${order}\\"}") { name } }`);
}

/** The quota of a queue, in JSON. */
export async function quotaOf(queue: string): Promise<string> {
  const answer = await graphql<{ queue: { quota: string } }>(`{ queue(resource_group: "${GROUP}", name: "${queue}") { quota } }`);
  return answer.queue.quota;
}

/** The accelerators of a quota. */
export const gpusOf = (quota: string): string | undefined => (JSON.parse(quota) as Record<string, string>)["cuda.device"];

/** Gives a queue below `parent` this quota, and the defaults of everything else. */
export async function resetQueue(name: string, parent: string, quota: string): Promise<void> {
  await graphql(`mutation { upsert_queues(resource_group: "${GROUP}", queues: [{name: "${name}", parent: "${parent}", quota: ${JSON.stringify(quota)}}]) { changed_count } }`);
}
