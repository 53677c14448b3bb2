// A queue as its form holds it: texts in the units of readers.
import { slots, type Slots } from "../../lib/numbers.ts";
import { scale } from "../../lib/units.ts";
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

/** What is no number goes to the server as it was typed, which says what is wrong with it. */
function times(text: string, factor: number): string {
  const value = text.trim() === "" ? Number.NaN : Number(text) * factor;
  return Number.isFinite(value) ? String(value) : text.trim();
}

/** The known slots as they are typed. */
function typed(json: string | null | undefined, known: string[]): Slots {
  const amounts = slots(json);
  return Object.fromEntries(known.map((slot) => [slot, times(amounts[slot] ?? "", 1 / scale(slot))]));
}

/** What was typed as the server takes it; slots that the form does not show stay. */
function written(json: string | null | undefined, texts: Slots): string {
  const kept = Object.entries(slots(json)).filter(([slot]) => !(slot in texts));
  const set = Object.entries(texts).filter(([, text]) => text.trim() !== "");
  return JSON.stringify(Object.fromEntries([...kept, ...set.map(([slot, text]) => [slot, times(text, scale(slot))])]));
}

/** An over-quota weight: one number, or numbers by slot. */
function weights(json: string | null | undefined): string | Slots {
  const told: unknown = json ? JSON.parse(json) : "";
  return typeof told === "object" && told !== null ? (told as Slots) : String(told ?? "");
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
    priority: Math.round(Number(draft.priority)) || 0,
    weight: draft.weight.trim() || null,
    quota: written(queue?.quota, draft.quota),
    limit: written(queue?.limit, draft.limit),
    over_quota_weight: overQuotaOf(draft, queue),
    reclaimable: draft.reclaimable,
  };
}
