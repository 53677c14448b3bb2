// The rows of one tier as the address asks for them, of now or of a day that is over.
import type { TadaDocumentNode } from "../../gql.ts";
import { num } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { plusDays } from "../../lib/time.ts";
import { domainRow, DOMAINS, PAST, PAST_COUNTS, pastRow, projectRow, PROJECTS, userRow, USERS, type Row, type Then, type Tier } from "./query.ts";

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

type List = { count: number; edges: { node: never }[] };
type Lists = TadaDocumentNode<Record<string, List>, unknown>;

export function useRows(wanted: Wanted) {
  const { day, tier, skip = false } = wanted;
  const doc = (day ? PAST : { domain: DOMAINS, project: PROJECTS, user: USERS }[tier]) as unknown as Lists;
  const answer = useQuery(doc, skip ? null : day ? past(wanted, day) : now(wanted), day === null);
  const list = answer.data?.[day ? "fair_share_history" : `${tier}_fair_shares`];
  const then = usePast(wanted, list?.count ?? 0);
  const make = { domain: domainRow, project: projectRow, user: userRow }[tier] as (node: never, revision: string) => Row;
  const revision = (answer.data?.["resource_group"] as unknown as { config_revision: string } | undefined)?.config_revision ?? "";
  const rows = list?.edges.map(({ node }) => (then ? pastRow(tier, node, then) : make(node, revision)));
  return { ...answer, count: list?.count ?? 0, rows };
}

/** The day before is read as a whole, so that each row finds its own rank; of longer lists it is left out. */
const MOST = 1000;

/** The facts about a past day besides its rows; `null`: it is now. */
function usePast(wanted: Wanted, count: number): Then | null {
  const { group, day, tier, inside, search = "", skip = false } = wanted;
  const counts = useQuery(PAST_COUNTS, day === null || skip || tier === "project" ? null : { group, day }, false);
  const isShort = count > 0 && count <= MOST;
  const asked = day !== null && !skip && isShort ? past({ ...wanted, first: MOST, offset: 0 }, plusDays(day, -1)) : null;
  const before = useQuery(PAST as unknown as Lists, asked, false);
  if (day === null) return null;
  const none: Then = { day, among: null, before: new Map() };
  const rows = before.data?.["fair_share_history"]?.edges.map(({ node }) => pastRow(tier, node, none)) ?? [];
  // A project is ranked in its domain, where all of them are listed.
  const ofProjects = inside?.domain && !search ? count : null;
  const among = tier === "domain" ? counts.data?.domains.count : tier === "user" ? counts.data?.users.count : ofProjects;
  return { day, among: among ?? null, before: new Map(rows.map((row) => [row.key, row.standing.rank])) };
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

/** The usage of all domains together: the whole that bars are parts of. */
export function useWhole(group: string, day: string | null): number {
  const { rows } = useRows({ group, day, tier: "domain", first: 1000 });
  return (rows ?? []).reduce((sum, row) => sum + num(row.usage), 0);
}
