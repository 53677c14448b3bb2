// Why a workload waits, in one sentence with its numbers.
import { many, num, percent, slots, type Slots } from "../../lib/numbers.ts";
import { short } from "../../lib/time.ts";
import { amountOf, describe, slotName } from "../../lib/units.ts";

/** A reason as the server gives it. */
export interface Waiting {
  reason: string;
  /** JSON: the numbers of the reason. */
  details: string;
  blocked_by: string[];
  reserved_at: string | null;
}

interface Details {
  scope?: string;
  queue?: string;
  slot?: string;
  asked?: string;
  most?: string;
  most_free?: string;
  free?: string;
  fit?: number;
  minimum?: number;
  reported?: number;
  limit?: string;
  /** By slot where the whole share of a queue is compared. */
  held?: string | Slots;
  share?: Slots;
  quota?: string;
  until?: string;
  refused?: Record<string, number>;
  agents?: number;
  level?: string | null;
  reclaimer_ratio?: string | null;
  victim_ratio?: string | null;
}

const PREDICATES: Record<string, string> = {
  schedulable: "take no work",
  labels: "lack the labels",
  taints: "have taints that it does not tolerate",
  max_per_agent: "have as many of its members as allowed",
  affinity: "are not near the workloads that it needs",
  anti_affinity: "are near workloads that it has to be away from",
};

/** True for what can never start as it is: it waits, and has no place in the order. */
export const isNever = ({ position, waiting }: { position: number | null; waiting: Pick<Waiting, "reason"> | null }): boolean =>
  position === null && (waiting?.reason === "too_large" || waiting?.reason === "predicates");

/** The reason as a sentence. `never`: the workload can never start as it is. */
export function whyInWords(waiting: Waiting, never: boolean): string {
  const details = JSON.parse(waiting.details) as Details;
  const of = (value: string | Slots | undefined): string => (typeof value === "object" ? describe(value) : amountOf(details.slot ?? "", value ?? "0"));
  const blocker = waiting.blocked_by[0] ?? "another workload";
  switch (waiting.reason) {
    case "too_large":
      return tooLarge(details, of);
    case "predicates":
      return refused(details, never);
    case "no_room":
      return `It asks for ${of(details.asked)}; the node with the most free has ${of(details.most_free)}, all nodes together ${of(details.free)}.`;
    case "gang":
      if (details.reported !== undefined) return `${many(details.reported, "member")} of the ${num(details.minimum)} that have to start together ${details.reported === 1 ? "is" : "are"} reported so far.`;
      return `${many(num(details.fit), "member")} of the ${num(details.minimum)} that have to start together ${details.fit === 1 ? "fits" : "fit"} now.`;
    case "queue_limit":
      return `The queue ${details.queue} may hold ${of(details.limit)}, and holds ${of(details.held)}.`;
    case "queue_share":
      return `The queue ${details.queue} holds ${of(details.held)}; its share is ${of(details.share)}, and others are below theirs.`;
    case "quota_non_preemptible":
      return `It may not be evicted, and the queue ${details.queue} has used its quota of ${of(details.quota)} for such work.`;
    case "behind":
      return `It waits behind ${blocker}, which does not fit now.`;
    case "reserved":
      return `It would delay ${blocker}, for which room is kept${details.until ? ` until ${short(details.until)}` : ""}.`;
    case "reclaim_refused":
      return `It deserves more, but no workload may be made to give it back${ratios(details)}.`;
    case "depth":
      return "The last cycle did not look that far.";
    case "budget":
      return "The last cycle ended before it was looked at.";
    default:
      return `${waiting.reason.replaceAll("_", " ")}.`;
  }
}

function ratios({ level, slot, victim_ratio, reclaimer_ratio }: Details): string {
  if (!level || !slot || !victim_ratio || !reclaimer_ratio) return "";
  return `: of its share of ${slotName(slot)} the queue ${level} has ${percent(num(victim_ratio))}, and the one that asks ${percent(num(reclaimer_ratio))}`;
}

function tooLarge(details: Details, of: (value: string | undefined) => string): string {
  const asked = `It asks for ${of(details.asked)}, and can never start:`;
  switch (details.scope) {
    case "agent":
      return `${asked} a node has ${of(details.most)} at most.`;
    case "group":
      return `${asked} the group has ${of(details.most)}.`;
    case "queue":
      return `${asked} the limit of the queue ${details.queue} is ${of(details.most)}.`;
    default:
      return `${details.asked} of its members have to run together, and ${details.most} fit on all nodes: it can never start.`;
  }
}

function refused({ refused: by = {}, agents = 0 }: Details, never: boolean): string {
  if (agents === 0) return "No node of the group is known.";
  const parts = Object.entries(by).map(([predicate, count]) => `${count} ${PREDICATES[predicate] ?? predicate}`);
  return `None of ${many(agents, "node")} admits it${never ? ", and it can never start" : " now"}: ${parts.join(", ")}.`;
}

/** `2 of 4 run`, for a workload of several members. */
export function membersInWords(members: { total: number; pending: number; running: number }): string {
  return members.running > 0 ? `${members.running} of ${members.running + members.pending} run` : many(members.pending, "kernel");
}

/** The largest share of a slot that a row holds, 0 to 1. */
export function largestShare(share: string): number {
  return Math.max(0, ...Object.values(slots(share)).map((part) => num(part)));
}
