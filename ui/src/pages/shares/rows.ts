// The rows of one tier as the address asks for them, of now or of a day that is over.
import type { TadaDocumentNode } from "../../gql.ts";
import { num } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { domainRow, DOMAINS, PAST, pastRow, projectRow, PROJECTS, userRow, USERS, type Row, type Tier } from "./query.ts";

export const PAGE = 100;
const ORDERS: Record<string, string> = { name: "NAME", factor: "FAIR_SHARE_FACTOR", usage: "EFFECTIVE_USAGE", weight: "EFFECTIVE_WEIGHT", rank: "RANK" };

interface Wanted {
  group: string;
  /** `null`: now. Of a past day everybody comes by rank. */
  day: string | null;
  tier: Tier;
  /** The domain or the project that the rows belong to. */
  inside?: { domain?: string; project?: string };
  first?: number;
  offset?: number;
  search?: string;
  active?: boolean;
  sort?: string;
  skip?: boolean;
}

type Lists = TadaDocumentNode<Record<string, { count: number; edges: { node: never }[] }>, unknown>;

export function useRows(wanted: Wanted) {
  const { day, tier, skip = false } = wanted;
  const doc = (day ? PAST : { domain: DOMAINS, project: PROJECTS, user: USERS }[tier]) as unknown as Lists;
  const answer = useQuery(doc, skip ? null : day ? past(wanted, day) : now(wanted), day === null);
  const list = answer.data?.[day ? "fair_share_history" : `${tier}_fair_shares`];
  const make = { domain: domainRow, project: projectRow, user: userRow }[tier] as (node: never) => Row;
  const rows = list?.edges.map(({ node }) => (day ? pastRow(tier, node) : make(node)));
  return { ...answer, count: list?.count ?? 0, rows };
}

function now({ group, tier, inside = {}, first = PAGE, offset = 0, search = "", active = false, sort = "rank" }: Wanted) {
  const nameField = { domain: "domain_name", project: "project_name", user: "user_name" }[tier];
  const filter = {
    ...(inside.domain ? { domain_name: { equals: inside.domain } } : {}),
    ...(inside.project ? { project_id: { equals: inside.project } } : {}),
    ...(search ? { [nameField]: { i_contains: search } } : {}),
    ...(active ? { active: true } : {}),
  };
  const [field, direction] = sort.startsWith("-") ? [sort.slice(1), "DESC"] : [sort, "ASC"];
  return { group, filter, order: { field: ORDERS[field] ?? "RANK", direction }, first, offset };
}

function past({ group, tier, inside = {}, first = PAGE, offset = 0, search = "" }: Wanted, day: string) {
  return { group, day, tier: tier.toUpperCase(), domain: inside.domain ?? null, project: inside.project ?? null, search: search || null, first, offset };
}

/** What all domains have used together: the whole that bars are parts of. */
export function useWhole(group: string, day: string | null): number {
  const { rows } = useRows({ group, day, tier: "domain", first: 1000 });
  return (rows ?? []).reduce((sum, row) => sum + num(row.usage), 0);
}
