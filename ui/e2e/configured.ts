// What is configured, as the API tells it.
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
