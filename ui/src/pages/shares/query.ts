// The queries of the tree of shares, and the rows that it makes of the answers.
import { graphql, type ResultOf } from "../../gql.ts";
import type { Ranked } from "../../ui/Rank.tsx";

export const DOMAINS = graphql(`
  query Domains($group: String!, $filter: DomainFairShareFilter, $order: DomainFairShareOrderBy, $first: Int!, $offset: Int!) {
    resource_group(name: $group) { config_revision }
    domain_fair_shares(resource_group: $group, filter: $filter, order: $order, first: $first, offset: $offset) {
      count
      edges { node { domain_name weight configured_weight effective_weight effective_usage entitled_share fair_share_factor rank ranked_count previous_rank lookback_end } }
    }
  }
`);

export const PROJECTS = graphql(`
  query Projects($group: String!, $filter: ProjectFairShareFilter, $order: ProjectFairShareOrderBy, $first: Int!, $offset: Int!) {
    resource_group(name: $group) { config_revision }
    project_fair_shares(resource_group: $group, filter: $filter, order: $order, first: $first, offset: $offset) {
      count
      edges { node { project_id project_name domain_name weight configured_weight effective_weight effective_usage entitled_share fair_share_factor rank ranked_count previous_rank lookback_end } }
    }
  }
`);

export const USERS = graphql(`
  query Users($group: String!, $filter: UserFairShareFilter, $order: UserFairShareOrderBy, $first: Int!, $offset: Int!) {
    resource_group(name: $group) { config_revision }
    user_fair_shares(resource_group: $group, filter: $filter, order: $order, first: $first, offset: $offset) {
      count
      edges { node { user_uuid user_name project_id project_name domain_name weight configured_weight effective_weight effective_usage entitled_share fair_share_factor rank ranked_count previous_rank lookback_end } }
    }
  }
`);

export const PAST = graphql(`
  query PastShares($group: String!, $day: Date!, $tier: FairnessTier!, $domain: String, $project: String, $search: String, $first: Int!, $offset: Int!) {
    fair_share_history(resource_group: $group, tier: $tier, from: $day, to: $day, domain: $domain, project: $project, search: $search, order: RANK, first: $first, offset: $offset) {
      count
      edges { node { domain_name project_id project_name user_uuid user_name rank fair_share_factor effective_usage effective_weight entitled_share } }
    }
  }
`);

type PastNode = ResultOf<typeof PAST>["fair_share_history"]["edges"][number]["node"];
type DomainNode = ResultOf<typeof DOMAINS>["domain_fair_shares"]["edges"][number]["node"];
type ProjectNode = ResultOf<typeof PROJECTS>["project_fair_shares"]["edges"][number]["node"];
type UserNode = ResultOf<typeof USERS>["user_fair_shares"]["edges"][number]["node"];

export type Tier = "domain" | "project" | "user";

/** A row of any tier in one form. */
export interface Row {
  tier: Tier;
  /** The key of a row, which no other row has. */
  key: string;
  /** The domain's name, or the id of the project or the user. */
  id: string;
  project: string | null;
  name: string;
  /** Where it belongs, for lists that are no trees. */
  within: string;
  weight: string;
  configured: string | null;
  effectiveWeight: string;
  usage: string;
  entitled: string;
  factor: string;
  standing: Ranked;
  /** The revision of the configuration that it is of; empty: of a past day. */
  revision: string;
  /** How many are ranked together; `null`: that is not known. */
  among: number | null;
}

interface Facts extends Ranked {
  weight: string;
  configured_weight: string | null;
  effective_weight: string;
  effective_usage: string;
  entitled_share: string;
  fair_share_factor: string;
  ranked_count: number;
}

const facts = (node: Facts, revision: string) => ({
  revision,
  weight: node.weight,
  configured: node.configured_weight,
  effectiveWeight: node.effective_weight,
  usage: node.effective_usage,
  entitled: node.entitled_share,
  factor: node.fair_share_factor,
  standing: node,
  among: node.ranked_count,
});

export const domainRow = (node: DomainNode, revision: string): Row => ({
  tier: "domain",
  key: `domain:${node.domain_name}`,
  id: node.domain_name,
  project: null,
  name: node.domain_name,
  within: "",
  ...facts(node, revision),
});

export const projectRow = (node: ProjectNode, revision: string): Row => ({
  tier: "project",
  key: `project:${node.project_id}`,
  id: node.project_id,
  project: null,
  name: node.project_name ?? node.project_id,
  within: node.domain_name,
  ...facts(node, revision),
});

export const userRow = (node: UserNode, revision: string): Row => ({
  tier: "user",
  key: `user:${node.user_uuid}:${node.project_id}`,
  id: node.user_uuid,
  project: node.project_id,
  name: node.user_name ?? node.user_uuid,
  within: `${node.domain_name} / ${node.project_name ?? node.project_id}`,
  ...facts(node, revision),
});

/** The rows of one answer of each tier. */
export function rowsOf(domains: ResultOf<typeof DOMAINS>, projects: ResultOf<typeof PROJECTS>, users: ResultOf<typeof USERS>): Row[] {
  const revision = (answer: { resource_group: { config_revision: string } | null }): string => answer.resource_group?.config_revision ?? "";
  return [
    ...domains.domain_fair_shares.edges.map((edge) => domainRow(edge.node, revision(domains))),
    ...projects.project_fair_shares.edges.map((edge) => projectRow(edge.node, revision(projects))),
    ...users.user_fair_shares.edges.map((edge) => userRow(edge.node, revision(users))),
  ];
}

/** The facts about a day besides its rows. */
export interface Then {
  day: string;
  /** How many of the tier were ranked together. */
  among: number | null;
  /** The ranks that the day before left, by the keys of rows. */
  before: ReadonlyMap<string, number | null>;
}

export const PAST_COUNTS = graphql(`
  query PastCounts($group: String!, $day: Date!) {
    domains: fair_share_history(resource_group: $group, tier: DOMAIN, from: $day, to: $day, first: 1) { count }
    users: fair_share_history(resource_group: $group, tier: USER, from: $day, to: $day, first: 1) { count }
  }
`);

/** The row of a domain, project or user on a day that is over. Of the weights of that day only the one that divided the usage is known. */
export function pastRow(tier: Tier, node: PastNode, then: Then): Row {
  const project = node.project_name ?? node.project_id ?? "";
  const names = { domain: node.domain_name ?? "", project, user: node.user_name ?? node.user_uuid ?? "" };
  const ids = { domain: node.domain_name ?? "", project: node.project_id ?? "", user: node.user_uuid ?? "" };
  const key = `${tier}:${ids[tier]}${tier === "user" ? `:${ids.project}` : ""}`;
  return {
    tier,
    key,
    id: ids[tier],
    project: tier === "user" ? ids.project : null,
    name: names[tier],
    within: tier === "user" ? project : "",
    weight: node.effective_weight,
    configured: null,
    effectiveWeight: node.effective_weight,
    usage: node.effective_usage,
    entitled: node.entitled_share,
    revision: "",
    factor: node.fair_share_factor,
    standing: { rank: node.rank, previous_rank: then.before.get(key) ?? null, lookback_end: then.day },
    among: then.among,
  };
}
