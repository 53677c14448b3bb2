// The domains, projects and users that a part of a name may mean.
import { graphql, type ResultOf } from "../gql.ts";

export const FIND = graphql(`
  query Find($group: String!, $text: String!) {
    user_fair_shares(resource_group: $group, first: 8, filter: { user_name: { i_contains: $text } }) {
      edges { node { user_uuid user_name project_id project_name rank } }
    }
  }
`);

/** The same of any tier, for the palette. */
export const FIND_ANY = graphql(`
  query FindAny($group: String!, $text: String!) {
    domain_fair_shares(resource_group: $group, first: 3, filter: { domain_name: { i_contains: $text } }) { edges { node { domain_name } } }
    project_fair_shares(resource_group: $group, first: 3, filter: { project_name: { i_contains: $text } }) { edges { node { project_id project_name } } }
    user_fair_shares(resource_group: $group, first: 8, filter: { user_name: { i_contains: $text } }) {
      edges { node { user_uuid user_name project_id project_name rank } }
    }
  }
`);

type Found = ResultOf<typeof FIND>["user_fair_shares"]["edges"][number]["node"];

export const placeOf = (node: Found): string => `${node.user_name ?? node.user_uuid} in ${node.project_name ?? node.project_id}`;
