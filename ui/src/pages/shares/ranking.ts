// The ranking of a tier, as a text to ask for it elsewhere.
import type { Action } from "../../lib/copy.ts";
import { DOMAINS, PAST, PROJECTS, USERS } from "./query.ts";

/** `view` is the tier, or the tree, which begins with domains. */
export function rankingAction(group: string, view: string): Action {
  const variables = { group, order: { field: "RANK", direction: "ASC" }, first: 100, offset: 0 };
  const path = ["resource-groups", group, "fair-share-status"];
  if (view === "user") return { document: USERS, variables, rest: { path, query: { limit: 100 } }, command: ["rank", group, ["--limit", 100]] };
  if (view === "project") return { document: PROJECTS, variables, rest: { path: [...path, "projects"], query: { limit: 100 } }, command: ["rank", group, "--projects", ["--limit", 100]] };
  return { document: DOMAINS, variables, rest: { path: [...path, "domains"], query: { limit: 100 } }, command: ["rank", group, "--domains", ["--limit", 100]] };
}

/** The same of a day that is over. */
export function pastRankingAction(group: string, view: string, day: string): Action {
  const tier = view === "tree" ? "domain" : view;
  return {
    document: PAST,
    variables: { group, day, tier: tier.toUpperCase(), domain: null, project: null, search: null, first: 100, offset: 0 },
    rest: { path: ["resource-groups", group, "fair-share-history"], query: { tier, from: day, to: day, order: "rank", limit: 100 } },
    command: ["history", group, ["--tier", tier], ["--from", day], ["--to", day], "--by-rank"],
  };
}
