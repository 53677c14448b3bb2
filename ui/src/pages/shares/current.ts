// The rows of edited weights as they are now.
import { useQuery } from "../../lib/query.ts";
import type { Edit, Edits } from "./edits.ts";
import { DOMAINS, PROJECTS, rowsOf, USERS, type Row } from "./query.ts";

/** The rows that one answer has at most. */
const MAX_ROWS = 1000;

/** The rows by their keys; `undefined`: not known yet, or not wanted. */
export function useCurrentRows(group: string, edits: Edits, isWanted: boolean): Map<string, Row> | undefined {
  const of = (tier: Edit["row"]["tier"]) => [...edits.values()].map(({ row }) => row).filter((row) => row.tier === tier);
  const variables = { group, order: { field: "RANK", direction: "ASC" } as const, first: MAX_ROWS, offset: 0 };
  const [domains, projects, users] = [of("domain"), of("project"), of("user")];
  const byDomain = useQuery(DOMAINS, isWanted ? { ...variables, filter: { domain_name: { in: domains.map(({ id }) => id) } } } : null);
  const byProject = useQuery(PROJECTS, isWanted ? { ...variables, filter: { project_id: { in: projects.map(({ id }) => id) } } } : null);
  const byUser = useQuery(USERS, isWanted ? { ...variables, filter: { user_uuid: { in: users.map(({ id }) => id) } } } : null);
  if (!isWanted || !byDomain.data || !byProject.data || !byUser.data) return undefined;
  return new Map(rowsOf(byDomain.data, byProject.data, byUser.data).map((row) => [row.key, row]));
}
