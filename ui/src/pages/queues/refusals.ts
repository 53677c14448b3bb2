// Why a plan is refused, in words: the rules of DIVISION §6.8.
import { facts, meaningOf } from "../../lib/metadata.ts";
import { num, percent } from "../../lib/numbers.ts";

/** One reason of a refusal, as the server gives it. */
export interface Refusal {
  /** Absent: it is about the planned workload itself. */
  workload_id?: string;
  queue: string;
  rule: string;
  level?: string | null;
  slot?: string | null;
  reclaimer_ratio?: string | null;
  victim_ratio?: string | null;
}

/** The rule in words, as the server has them. */
export const ruleInWords = (rule: string): string => meaningOf(facts().reclaim_rules, rule);

/** A ratio of the server as a percentage; a side without one has none. */
export function ratioShown(ratio: string | null | undefined): string {
  if (ratio === null || ratio === undefined) return "–";
  return ratio === "inf" ? "∞" : percent(num(ratio));
}
