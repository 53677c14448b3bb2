// The days of one domain, project or user, as a text to ask for them elsewhere.
import type { Action } from "../../lib/copy.ts";

export function historyAction(group: string, tier: string, entity: Record<string, string>, document: object): Action {
  const { name: domain, user, project } = entity;
  return {
    document,
    variables: entity,
    rest: { path: ["resource-groups", group, "fair-share-history"], query: { tier, domain, user, project } },
    command: ["history", group, ["--tier", tier], ["--domain", domain], ["--user", user], ["--project", project]],
  };
}
