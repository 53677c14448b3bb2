// Simulations of divisions in which some queues differ, in the form in which the server is asked.
import { facts, meaningOf, within } from "../../lib/metadata.ts";
import { num, slots, type Slots } from "../../lib/numbers.ts";
import { ordered } from "../../lib/units.ts";
import type { Configured, Data, Queue } from "./query.ts";

/** How an algorithm divides, in words. */
export const dividedBy = (algorithm: string): string => `Divided ${within(meaningOf(facts().division_algorithms, algorithm))}`;

/** The pixels by which a queue stands to the right of its parent. */
export const INDENT = 18;

/** Parents before their children, each with its depth. */
export function inTree<T extends { name: string; parent: string | null }>(queues: T[]): { queue: T; depth: number }[] {
  const below = new Map<string | null, T[]>();
  const known = new Set(queues.map((queue) => queue.name));
  for (const queue of queues) {
    const parent = queue.parent !== null && known.has(queue.parent) ? queue.parent : null;
    below.set(parent, [...(below.get(parent) ?? []), queue]);
  }
  const list = (parent: string | null, depth: number): { queue: T; depth: number }[] =>
    (below.get(parent) ?? []).flatMap((queue) => [{ queue, depth }, ...list(queue.name, depth + 1)]);
  return list(null, 0);
}

/** Queues of a past day with the parents and in the order of the queues of now; those that are gone, and the implicit one, are last. */
export function asNow<T extends { queue: string }>(rows: T[], now: { name: string; parent: string | null }[]): (T & { name: string; parent: string | null })[] {
  const places = new Map(now.map(({ name }, at) => [name, at]));
  const place = (row: T): number => places.get(row.queue) ?? now.length;
  return rows.toSorted((a, b) => place(a) - place(b)).map((row) => ({ ...row, name: row.queue, parent: now[place(row)]?.parent ?? null }));
}

/** The part of a queue's fair share beyond its quota; nothing where the quota has no end. */
export function overQuota(fairShare: string, quota: string): number {
  return quota === "unlimited" ? 0 : Math.max(0, num(fairShare) - num(quota));
}

/** A queue as it is written: all of it, so that nothing goes back to its default. */
export const asWritten = (queue: Configured): Queue => ({ ...queue });

/** A queue as REST has it. */
export function inRest(queue: Queue): Record<string, unknown> {
  const read = (json: string | null | undefined): unknown => (json ? (JSON.parse(json) as unknown) : undefined);
  const written = {
    ...queue,
    mode: queue.mode?.toLowerCase(),
    children_over_quota_by: queue.children_over_quota_by?.toLowerCase(),
    quota: read(queue.quota),
    limit: read(queue.limit),
    guarantee: read(queue.guarantee),
    over_quota_weight: read(queue.over_quota_weight),
  };
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== null && value !== undefined));
}

/** The queues with some of them changed or new, or without one. */
export function withChanges(data: Data, changes: Queue[], removed?: string): Queue[] {
  const changed = new Map(changes.map((queue) => [queue.name, queue]));
  const known = data.queues.edges.map(({ node }) => changed.get(node.name) ?? asWritten(node));
  const names = new Set(data.queues.edges.map(({ node }) => node.name));
  return [...known, ...changes.filter((queue) => !names.has(queue.name))].filter((queue) => queue.name !== removed);
}

/** The input of `simulate_division`: these queues, with the request and the allocation of each now. */
export function simulation(data: Data, queues: Queue[], capacity: Slots = {}): Record<string, unknown> {
  const parents = new Set(queues.map((queue) => queue.parent));
  const now = new Map(data.division.queues.map((queue) => [queue.name, queue]));
  const written = queues.map((queue) => {
    const demand = parents.has(queue.name) ? undefined : now.get(queue.name);
    return { ...inRest(queue), ...(demand ? { request: slots(demand.request), allocated: slots(demand.allocated) } : {}) };
  });
  const { options = {} } = JSON.parse(data.division.options) as { options?: Record<string, unknown> };
  // The others are about reclaims.
  const ofDivision = new Set(facts().division_options.map(({ key }) => key));
  const dividing = Object.fromEntries(Object.entries(options).filter(([name]) => ofDivision.has(name)));
  return { algorithm: data.division.algorithm, options: dividing, capacity: { ...slots(data.division.capacity), ...capacity }, queues: written };
}

export interface Deserved {
  queues: { name: string; fair_share: Slots }[];
}

/** One slot of one queue of which another amount would be deserved. */
export interface Moved {
  queue: string;
  slot: string;
  from: string;
  to: string;
}

export function movedQueues(before: Deserved, after: Deserved): Moved[] {
  const known = new Map(before.queues.map((queue) => [queue.name, queue.fair_share]));
  return after.queues.flatMap(({ name, fair_share }) => {
    const old = known.get(name) ?? {};
    const all = ordered([...Object.keys(old), ...Object.keys(fair_share)]).map((slot) => ({ queue: name, slot, from: old[slot] ?? "0", to: fair_share[slot] ?? "0" }));
    return all.filter(({ from, to }) => from !== to && num(from) !== num(to));
  });
}
