// The group in which a person arrives who names no address.
import { graphql } from "../gql.ts";
import { request } from "./client.ts";
import { groups, isUser } from "./session.ts";

const OWN = graphql(`
  query Own($group: String!) {
    user_fair_shares(resource_group: $group, first: 1) { count }
  }
`);

/** The number of groups that are asked; the menu has them all. */
const MOST = 20;

/** The first group in which a user has a place; for other roles the first group. */
export async function homeGroup(): Promise<string | undefined> {
  for (const group of isUser() ? groups.value.slice(0, MOST) : []) {
    const own = await request(OWN, { group });
    if (own.user_fair_shares.count > 0) return group;
  }
  return groups.value[0];
}
