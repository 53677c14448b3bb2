// A queue as its form holds it: texts in the units of readers.
import { facts } from "../../lib/metadata.ts";
import { slots, type Slots } from "../../lib/numbers.ts";
import { amountFault, countedAmount, rangeFault, typedAmount } from "../../lib/quantity.ts";
import { slotLabel, slotName } from "../../lib/units.ts";
import { asWritten } from "./division.ts";
import type { Configured, Queue } from "./query.ts";

export interface Draft {
  name: string;
  parent: string;
  priority: string;
  weight: string;
  quota: Slots;
  limit: Slots;
  /** The over-quota weight of every slot, and those of single slots that have another. */
  overQuota: string;
  overQuotaOf: Slots;
  reclaimable: boolean;
}

/** The known slots as they are typed. */
function typed(json: string | null | undefined, known: string[]): Slots {
  const amounts = slots(json);
  return Object.fromEntries(known.map((slot) => [slot, typedAmount(slot, amounts[slot] ?? "")]));
}

/** The typed values as the server takes them; slots that the form does not show stay. */
function written(json: string | null | undefined, texts: Slots): string {
  const kept = Object.entries(slots(json)).filter(([slot]) => !(slot in texts));
  const set = Object.entries(texts).filter(([, text]) => text.trim() !== "");
  return JSON.stringify(Object.fromEntries([...kept, ...set.map(([slot, text]) => [slot, countedAmount(slot, text)])]));
}

/** An over-quota weight: one number, or numbers by slot. */
function weights(json: string | null | undefined): string | Slots {
  const value: unknown = json ? JSON.parse(json) : "";
  return typeof value === "object" && value !== null ? (value as Slots) : String(value ?? "");
}

/** The fault of the number of a queue. */
function keyFault(key: string, text: string): string | undefined {
  const range = facts().queue_keys.find((known) => known.key === key);
  return range && rangeFault(text, range);
}

/** The fault of a priority. */
export const priorityFault = (text: string): string | undefined => keyFault("priority", text);

/** The fault of the weight of a queue. */
export const queueWeightFault = (text: string): string | undefined => keyFault("weight", text);

/** The fault of a quota or a limit, which may be without an end. */
export const quotaFault = (text: string): string | undefined => (text.trim() === "unlimited" ? undefined : amountFault(text));

/** The faults of a draft by the fields that the server calls so: while there is one, it is neither tried nor saved. */
export function draftFaults(draft: Draft): Record<string, string> {
  const ofSlots = (field: string, texts: Slots, fault: (text: string) => string | undefined) => Object.entries(texts).map(([slot, text]) => [`${field}/${slot}`, fault(text)]);
  const all = [
    ["priority", priorityFault(draft.priority)],
    ["weight", queueWeightFault(draft.weight)],
    ["over_quota_weight", amountFault(draft.overQuota)],
    ...ofSlots("quota", draft.quota, quotaFault),
    ...ofSlots("limit", draft.limit, quotaFault),
    ...ofSlots("over_quota_weight", draft.overQuotaOf, amountFault),
  ];
  return Object.fromEntries(all.filter(([, fault]) => fault !== undefined));
}

export function draftOf(queue: Configured | undefined, known: string[]): Draft {
  const overQuota = weights(queue?.over_quota_weight);
  const isOne = typeof overQuota === "string";
  return {
    name: queue?.name ?? "",
    parent: queue?.parent ?? "",
    priority: String(queue?.priority ?? 0),
    weight: queue?.weight ?? "1",
    quota: typed(queue?.quota, known),
    limit: typed(queue?.limit, known),
    overQuota: isOne ? overQuota : "",
    overQuotaOf: Object.fromEntries(known.map((slot) => [slot, isOne ? "" : (overQuota[slot] ?? "")])),
    reclaimable: queue?.reclaimable ?? true,
  };
}

/** The fields of a draft as pairs of a name and a text, for those that the form shows for these slots. */
function fields(draft: Draft, known: string[]): [string, string][] {
  const ofSlot = (slot: string): [string, string][] => [
    [`Quota of ${slotLabel(slot)}`, draft.quota[slot] || "none"],
    [`Limit of ${slotLabel(slot)}`, draft.limit[slot] || "none"],
    [`Over-quota weight of ${slotName(slot)}`, draft.overQuotaOf[slot] || "that of every slot"],
  ];
  return [
    ["Below", draft.parent || "no other queue"],
    ["Priority", draft.priority.trim() || "0"],
    ...known.flatMap(ofSlot),
    ["Over-quota weight, of every slot", draft.overQuota.trim() || "1"],
    ["Weight", draft.weight.trim() || "1"],
    ["May be reclaimed", draft.reclaimable ? "yes" : "no"],
  ];
}

/** The fields that a draft changes, beside how they were and how they are now; `null`: there is no such queue. */
export function changedFields(draft: Draft, begun: Draft | null, now: Draft | null, known: string[]): { name: string; begun: string; now: string; draft: string }[] {
  const before = new Map(begun && fields(begun, known));
  const after = new Map(now && fields(now, known));
  const absent = "no such queue";
  return fields(draft, known)
    .map(([name, text]) => ({ name, begun: begun ? (before.get(name) ?? "") : absent, now: now ? (after.get(name) ?? "") : absent, draft: text }))
    .filter((field) => field.draft !== field.begun);
}

/** The draft on another state of its queue: what it changes stays, and all else is as it is there. */
export function rebased(draft: Draft, begun: Draft, now: Draft): Draft {
  const pick = <T>(mine: T, before: T, there: T): T => (mine === before ? there : mine);
  const slotsOf = (mine: Slots, before: Slots, there: Slots): Slots => Object.fromEntries(Object.keys({ ...there, ...mine }).map((slot) => [slot, pick(mine[slot] ?? "", before[slot] ?? "", there[slot] ?? "")]));
  return {
    name: draft.name,
    parent: pick(draft.parent, begun.parent, now.parent),
    priority: pick(draft.priority, begun.priority, now.priority),
    weight: pick(draft.weight, begun.weight, now.weight),
    quota: slotsOf(draft.quota, begun.quota, now.quota),
    limit: slotsOf(draft.limit, begun.limit, now.limit),
    overQuota: pick(draft.overQuota, begun.overQuota, now.overQuota),
    overQuotaOf: slotsOf(draft.overQuotaOf, begun.overQuotaOf, now.overQuotaOf),
    reclaimable: pick(draft.reclaimable, begun.reclaimable, now.reclaimable),
  };
}

function overQuotaOf(draft: Draft, queue: Configured | undefined): string | null {
  const before = weights(queue?.over_quota_weight);
  const kept = typeof before === "string" ? [] : Object.entries(before).filter(([slot]) => !(slot in draft.overQuotaOf));
  const every = draft.overQuota.trim();
  const single = Object.entries(draft.overQuotaOf).map(([slot, text]): [string, string] => [slot, text.trim()]);
  if (kept.length === 0 && single.every(([, text]) => text === "")) return every === "" ? null : JSON.stringify(every);
  const all = single.map(([slot, text]): [string, string] => [slot, text || every]).filter(([, text]) => text !== "");
  return JSON.stringify(Object.fromEntries([...kept, ...all]));
}

/** The queue as the server takes it; what the form does not show stays as it is. */
export function inputOf(draft: Draft, queue: Configured | undefined): Queue {
  return {
    ...(queue ? asWritten(queue) : {}),
    name: draft.name.trim(),
    parent: draft.parent || null,
    priority: draft.priority.trim() === "" ? 0 : Number(draft.priority),
    weight: draft.weight.trim() || null,
    quota: written(queue?.quota, draft.quota),
    limit: written(queue?.limit, draft.limit),
    over_quota_weight: overQuotaOf(draft, queue),
    reclaimable: draft.reclaimable,
  };
}
