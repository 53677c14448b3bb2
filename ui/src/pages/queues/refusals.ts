// Why a plan is refused, in words: the rules of DIVISION §6.8.
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

const RULES: Record<string, string> = {
  gate_fair_share: "The queue would have more than its fair share.",
  gate_quota: "Work that cannot be preempted would go beyond the quota.",
  limit: "It would go beyond the limit.",
  strategy: "This queue is not above what it may keep.",
  saturation: "This queue would be left with less of its fair share than the one that asks.",
  non_preemptible: "This workload cannot be preempted.",
  critical: "This workload is critical.",
  gang: "The gang needs all of its members that run.",
  min_runtime: "It has not run for its minimum runtime yet.",
  not_reclaimable: "The queue gives nothing back.",
  placement: "No node could offer enough room, or the room is split over several nodes.",
  no_candidate: "No workload runs that could give something back.",
};

export const ruleInWords = (rule: string): string => RULES[rule] ?? `${rule.replaceAll("_", " ")}.`;

/** A ratio of the server as a percentage; a side without one has none. */
export function ratioShown(ratio: string | null | undefined): string {
  if (ratio === null || ratio === undefined) return "–";
  return ratio === "inf" ? "∞" : percent(num(ratio));
}
