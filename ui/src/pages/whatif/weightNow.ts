// The weights that are in force, beside those that are tried.
import { graphql } from "../../gql.ts";
import { useQuery } from "../../lib/query.ts";
import type { Scenario } from "./scenario.ts";

export interface WeightNow {
  tier: "domain" | "project" | "user";
  name: string;
  weight: string;
  /** Set by an admin, and not the default of the group. */
  isSet: boolean;
}

interface Weighed {
  weight: string;
  configured_weight: string | null;
}

export const weightNow = (tier: WeightNow["tier"], name: string, { weight, configured_weight }: Weighed): WeightNow => ({ tier, name, weight, isSet: configured_weight !== null });

const USER_WEIGHT = graphql(`
  query UserWeight($group: String!, $user: String!, $project: String!) {
    user_fair_shares(resource_group: $group, first: 1, filter: { user_name: { equals: $user }, project_name: { equals: $project } }) {
      edges { node { user_name weight configured_weight } }
    }
  }
`);

/** Users are too many to be read beforehand. */
export function useUserWeight(group: string, { tier, name, project }: Scenario["weights"][number]): WeightNow | undefined {
  const answer = useQuery(USER_WEIGHT, tier === "user" && name !== "" && project !== "" ? { group, user: name, project } : null);
  const node = answer.data?.user_fair_shares.edges[0]?.node;
  return node && node.user_name === name ? weightNow("user", name, node) : undefined;
}
