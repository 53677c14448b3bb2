// What the server explains, in the shape of `GET /resource-groups/{rg}/explain`.
import type { Action } from "../../lib/copy.ts";
import { graphql } from "../../gql.ts";

export const EXPLAIN = graphql(`
  query Explain($group: String!, $tier: String, $domain: String, $project: String, $user: String, $place: Int) {
    explain_fair_share(resource_group: $group, tier: $tier, domain: $domain, project: $project, user: $user, place: $place)
  }
`);

export function explainAction(group: string, whom: Record<string, string>, place: number | null): Action {
  const { tier, domain, project, user } = whom;
  return {
    document: EXPLAIN,
    variables: { group, ...whom, place },
    rest: { path: ["resource-groups", group, "explain"], query: { tier, domain, project, user, place } },
    command: ["explain", ...(user ? [user] : []), ["--project", project], ["--domain", domain], ["--group", group], ["--place", place]],
  };
}

export const RECORDS = graphql(`
  query RecordsOfDay($group: String!, $from: String!, $to: String!, $user: UUID, $project: UUID) {
    usage_records(resource_group: $group, from: $from, to: $to, user_uuid: $user, project_id: $project, first: 500) {
      count
      edges { node { kernel_id period_start period_end resource_usage } }
    }
  }
`);

export interface Whom {
  user_uuid?: string;
  user_name?: string;
  project_id?: string;
  project_name?: string;
  domain_name: string;
}

interface Compared {
  normalized_usage: string;
  effective_weight: string;
  exponent: string;
}

export interface Neighbour {
  decided_by: string;
  who?: Whom;
  place?: number;
  theirs?: Compared;
  yours?: Compared;
  because: string;
}

export interface BucketPart {
  period_start: string;
  period_end: string;
  resource_usage: Record<string, string>;
  age_days: number;
  decay_weight: string;
  normalized_usage: string;
  contribution: string;
  part: string;
}

export interface OutlookDate {
  date: string;
  place: number;
  normalized_usage: string;
  fair_share_factor: string;
}

interface Beside {
  resource_usage: Record<string, string>;
  normalized_usage: string;
}

export interface Explanation extends Whom {
  tier: string;
  summary: string;
  in_group: boolean;
  rank: number | null;
  place: number | null;
  of: number;
  equals: number;
  order: string;
  formula: { normalized_usage: string; effective_weight: string; exponent: string; fair_share_factor: string; text: string };
  weights: { tier: string; weight: string; source: string; set_by: string | null; set_at: string | null; reason: string | null }[];
  rules: { calculated_at: string | null; today: string; decay: string; half_life_days: number; lookback_days: number };
  buckets: BucketPart[];
  unrecorded: Beside;
  committed: Beside;
  above: Neighbour | null;
  below: Neighbour | null;
  if_nothing_is_run: { from: string; next_run: OutlookDate | null; dates: OutlookDate[]; until: string };
  weights_for_places: { wanted: number; place: number | null; weight: string | null }[];
  costs: { place: number; normalized_usage: string; any_of: Record<string, string> } | null;
}

export function nameOf(whom: Whom): string {
  return whom.user_name ?? whom.user_uuid ?? whom.project_name ?? whom.project_id ?? whom.domain_name;
}

export interface Step {
  name: string;
  /** Where the bar begins and how long it is, as parts of the longest. */
  from: number;
  length: number;
  shown: string;
  kind: "part" | "sum";
}

/** The buckets as bars that begin where those before end, and their sum. The smallest are put together. */
export function waterfall(buckets: BucketPart[], most = 14): Step[] {
  const total = buckets.reduce((sum, bucket) => sum + Number(bucket.contribution), 0);
  if (total <= 0) return [];
  const largest = buckets.toSorted((a, b) => Number(b.contribution) - Number(a.contribution)).slice(0, most);
  const kept = new Set(largest.filter((bucket) => Number(bucket.contribution) > 0));
  const rest = buckets.filter((bucket) => !kept.has(bucket));
  const restSum = rest.reduce((sum, bucket) => sum + Number(bucket.contribution), 0);
  const steps: Step[] = [];
  let at = 0;
  const add = (name: string, contribution: number) => {
    steps.push({ name, from: at / total, length: contribution / total, shown: `${((100 * contribution) / total).toFixed(1)} %`, kind: "part" });
    at += contribution;
  };
  if (restSum > 0) add(rest.length === 1 ? "1 other day" : `${rest.length} other days`, restSum);
  for (const bucket of buckets) if (kept.has(bucket)) add(bucket.period_start, Number(bucket.contribution));
  steps.push({ name: "all that counts", from: 0, length: 1, shown: total.toPrecision(4), kind: "sum" });
  return steps;
}
