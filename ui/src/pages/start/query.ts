// The mutations that make the first group and the key of its scheduler.
import { graphql } from "../../gql.ts";
import type { Action } from "../../lib/copy.ts";

export const MAKE_GROUP = graphql(`mutation MakeGroup($name: String!) { upsert_resource_group(name: $name) { name } }`);

export const MAKE_SCHEDULER_KEY = graphql(`
  mutation MakeSchedulerKey($label: String!, $groups: [String!]!) { create_key(role: SCHEDULER, label: $label, resource_groups: $groups) { key } }
`);

export const groupAction = (name: string): Action => ({
  document: MAKE_GROUP,
  variables: { name },
  rest: { method: "PUT", path: ["resource-groups", name], body: {} },
  command: ["groups", "create", name],
});
