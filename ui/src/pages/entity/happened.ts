// The events around an entity that the role may know.
import { useMemo } from "preact/hooks";
import { useQuery } from "../../lib/query.ts";
import { isAdmin, isUser } from "../../lib/session.ts";
import { plusDays } from "../../lib/time.ts";
import { marksOf, type Mark } from "./marks.ts";
import { MARKS, WEIGHT_CHANGES } from "./query.ts";
import { targets } from "./who.ts";

/** Marks of a number of days until `last`. */
export function useMarks(group: string, share: Parameters<typeof targets>[0], last: string, days: number): Mark[] {
  const first = plusDays(last, 1 - days);
  const seen = useQuery(MARKS, isUser() ? null : { group });
  const weights = useQuery(WEIGHT_CHANGES, isAdmin() ? { group, ...targets(share), from: first } : null);
  return useMemo(() => {
    const nodes = <N,>(list: { edges: { node: N }[] } | undefined): N[] => list?.edges.map((edge) => edge.node) ?? [];
    const { domain, project, user } = weights.data ?? {};
    const changes = [...nodes(domain), ...nodes(project), ...nodes(user)];
    const happened = { gaps: nodes(seen.data?.usage_gaps), failed: nodes(seen.data?.job_runs), changes };
    return marksOf(happened, Date.parse(`${first}T00:00:00Z`) / 1000, Date.parse(`${plusDays(last, 1)}T00:00:00Z`) / 1000);
  }, [seen.data, weights.data, first, last]);
}
