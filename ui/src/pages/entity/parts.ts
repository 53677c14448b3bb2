// The usage by day of the projects of a domain, or of the users of a project: the largest on their own, the rest together.
import { useEffect, useState } from "preact/hooks";
import { graphql, type ResultOf, type VariablesOf } from "../../gql.ts";
import { ApiError, request } from "../../lib/client.ts";
import { slots } from "../../lib/numbers.ts";
import { readAll } from "../../lib/pages.ts";
import { revision } from "../../lib/query.ts";
import { daysBetween } from "../../lib/time.ts";
import { hours } from "../../lib/units.ts";
import type { Range } from "./range.ts";
import { named } from "./who.ts";

const PARTS = graphql(`
  query Parts($group: String!, $from: String!, $to: String!, $by: [UsageReportBy!]!, $domain: String, $project: UUID, $after: String) {
    usage_report(resource_groups: [$group], from: $from, to: $to, by: $by, domain_name: $domain, project_id: $project, first: 1000, after: $after) {
      count
      pageInfo { hasNextPage endCursor }
      edges { node { first_day project_id project_name user_uuid user_name resource_usage } }
    }
  }
`);

type Asked = VariablesOf<typeof PARTS>;
export type PartOfDay = ResultOf<typeof PARTS>["usage_report"]["edges"][number]["node"];

/** A browser draws no more rows than these pages have. */
const MOST_PAGES = 10;

export interface Parts {
  /** `undefined`: not known yet. */
  rows?: PartOfDay[];
  /** The days of these rows: what was shown stays until other days are known. */
  range: Range;
  /** There are more rows than are read. */
  isCut?: boolean;
  error?: ApiError;
}

/** The parts of a domain or project by day; nothing of other tiers. */
export function useParts(group: string, tier: string, id: string, range: Range, isShown: boolean): Parts {
  const [parts, setParts] = useState<Parts & { key: string }>({ key: "", range });
  const { first, last } = range;
  const { domain, project } = named(tier, id);
  const by: Asked["by"] = ["DAY", tier === "domain" ? "PROJECT" : "USER"];
  const key = JSON.stringify(isShown ? { group, from: first, to: last, by, domain, project } : null);
  const seen = revision.value;
  useEffect(() => {
    const asked = JSON.parse(key) as Asked | null;
    if (!asked) return;
    const range = { first: asked.from, last: asked.to, count: daysBetween(asked.from, asked.to) + 1 };
    const aborter = new AbortController();
    readAll(async (after) => (await request(PARTS, { ...asked, after }, aborter.signal)).usage_report, MOST_PAGES).then(
      ({ nodes, count }) => setParts({ key, range, rows: nodes, isCut: nodes.length < count }),
      (cause: unknown) => {
        if (!aborter.signal.aborted) setParts({ key, range, error: cause instanceof ApiError ? cause : new ApiError("failed", String(cause)) });
      },
    );
    return () => aborter.abort();
  }, [key, seen]);
  return parts.key === key || parts.rows ? parts : { range };
}

export interface Part {
  name: string;
  /** Hours of the slot's unit by day. */
  values: number[];
}

/** The parts by day, the largest first; what is not among the `most` largest is put together at the end. */
export function stacked(rows: PartOfDay[], slot: string, { first, count }: Range, most = 7): Part[] {
  const all = new Map<string, Part & { sum: number }>();
  for (const row of rows) {
    const used = hours(slot, slots(row.resource_usage)[slot] ?? 0);
    const at = daysBetween(first, row.first_day);
    if (used === 0 || at < 0 || at >= count) continue;
    const id = row.user_uuid ?? row.project_id ?? "";
    const part = all.get(id) ?? { name: row.user_name ?? row.project_name ?? id, values: Array.from({ length: count }, () => 0), sum: 0 };
    part.values[at] = (part.values[at] ?? 0) + used;
    part.sum += used;
    all.set(id, part);
  }
  const largest = [...all.values()].toSorted((a, b) => b.sum - a.sum || a.name.localeCompare(b.name));
  const own = largest.slice(0, largest.length === most + 1 ? most + 1 : most).map(({ name, values }) => ({ name, values }));
  const rest = largest.slice(own.length);
  if (rest.length > 0) own.push({ name: `${rest.length} others`, values: Array.from({ length: count }, (_, day) => rest.reduce((sum, part) => sum + (part.values[day] ?? 0), 0)) });
  return own;
}
