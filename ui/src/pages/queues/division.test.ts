import { expect, it } from "vitest";
import { inRest, movedQueues, overQuota, simulation, withChanges } from "./division.ts";
import type { Data, Queue } from "./query.ts";

const queue = (name: string, parent: string | null, quota: string) => ({ name, parent, quota, priority: 1, mode: "FIFO", limit: "{}", guarantee: "{}", over_quota_weight: '"2"', children_over_quota_by: "WEIGHT", reclaimable: true }) as unknown as Queue;
const data = {
  division: { algorithm: "quota_over_quota", options: '{"options":{"rounding":"down","strategies":["fair"]}}', capacity: '{"cpu":"8"}', queues: [{ name: "a", request: "{}", allocated: "{}" }, { name: "b", request: '{"cpu":"4"}', allocated: '{"cpu":"2"}' }] },
  queues: { edges: [{ node: queue("a", null, '{"cpu":"6"}') }, { node: queue("b", "a", '{"cpu":"1"}') }] },
} as unknown as Data;

it("tries queues with all that they have", () => {
  expect(inRest(queue("b", null, '{"cpu":"1"}'))).toEqual({ name: "b", quota: { cpu: "1" }, priority: 1, mode: "fifo", limit: {}, guarantee: {}, over_quota_weight: "2", children_over_quota_by: "weight", reclaimable: true });
  const changed = withChanges(data, [queue("b", "a", '{"cpu":"3"}'), queue("c", "a", "{}")]);
  expect(changed.map(({ name, quota }) => [name, quota])).toEqual([["a", '{"cpu":"6"}'], ["b", '{"cpu":"3"}'], ["c", "{}"]]);
  const asked = simulation(data, changed, { cpu: "9" }) as { options: object; capacity: object; queues: { name: string; request?: object }[] };
  expect([asked.options, asked.capacity]).toEqual([{ rounding: "down" }, { cpu: "9" }]);
  // The request of a parent is that of its children.
  expect(asked.queues.map((queue) => queue.request)).toEqual([undefined, { cpu: "4" }, undefined]);
});

it("finds the amounts that differ", () => {
  const of = (fair_share: Record<string, string>) => ({ queues: [{ name: "a", fair_share }] });
  expect(movedQueues(of({ cpu: "1", mem: "2" }), of({ cpu: "1.5", mem: "2" }))).toEqual([{ queue: "a", slot: "cpu", from: "1", to: "1.5" }]);
  expect(movedQueues({ queues: [] }, of({ cpu: "1" }))).toEqual([{ queue: "a", slot: "cpu", from: "0", to: "1" }]);
});

it("knows the part over quota", () => {
  expect([overQuota("5", "3"), overQuota("2", "3"), overQuota("5", "unlimited")]).toEqual([2, 0, 0]);
});
