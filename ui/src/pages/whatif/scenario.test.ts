import { expect, it } from "vitest";
import type { Configured } from "../queues/query.ts";
import { changeOf, decode, EMPTY, encode, isFaulty, queuesOf, type Scenario, withParts, workloadsOf } from "./scenario.ts";

const scenario: Scenario = {
  weights: [
    { tier: "domain", name: "重要", project: "", weight: "2" },
    { tier: "user", name: "alice", project: "vision", weight: "" },
    { tier: "user", name: "bob", project: "", weight: "1" },
  ],
  options: { half_life_days: "14", scheduler: "drf" },
  capacity: { mem: "2", cpu: "" },
  projects: [{ project: "vision", domain: "sales" }],
  added: [
    { user: "dora", project: "new", domain: "sales", weight: "2" },
    { user: "emil", project: "vision", domain: "", weight: "" },
    { user: "nobody", project: "", domain: "", weight: "" },
  ],
  removed: [{ user: "carol", project: "" }, { user: "dan", project: "vision" }, { user: "", project: "x" }],
  queues: [
    { name: "vision", parent: "", priority: "", weight: "", quota: { mem: "1", cpu: "" } },
    { name: "fresh", parent: "research", priority: "2", weight: "3", quota: {} },
    { name: "", parent: "", priority: "", weight: "", quota: {} },
  ],
};

it("survives the way through an address", () => {
  expect(decode(encode(scenario))).toEqual(scenario);
  expect(encode(scenario)).toMatch(/^[\w-]+$/);
  expect(decode("§§§")).toEqual(EMPTY);
  const old = btoa(JSON.stringify({ weights: [] }));
  expect(decode(old)).toEqual(EMPTY);
});

it("becomes what the server takes", () => {
  expect(changeOf(scenario, (_, text) => Number(text))).toEqual({
    weights: [
      { target_type: "domain", domain_name: "重要", weight: "2" },
      { target_type: "user", user: "alice", project: "vision", weight: null },
    ],
    scheduler: "drf",
    scheduler_opts: { half_life_days: 14 },
    capacity: { mem: String(2 * 2 ** 30) },
    projects: [{ project: "vision", domain_name: "sales" }],
    add_users: [{ user: "dora", project: "new", domain_name: "sales", weight: "2" }, { user: "emil", project: "vision" }],
    remove_users: [{ user: "carol" }, { user: "dan", project: "vision" }],
  });
  expect(changeOf(EMPTY, String)).toBeNull();
  expect(changeOf({ ...EMPTY, queues: scenario.queues }, String)).toBeNull();
});

it("changes queues only in what is filled in", () => {
  const known = [{ name: "vision", parent: "research", priority: 1, weight: "1", quota: '{"cpu":"4"}' } as Configured];
  expect(queuesOf(scenario, known)).toEqual([
    { name: "vision", parent: "research", priority: 1, weight: "1", quota: `{"cpu":"4","mem":"${2 ** 30}"}` },
    { name: "fresh", parent: "research", priority: 2, weight: "3", quota: "{}" },
  ]);
});

it("sends of what waits all that the order looks at, what has been known the longest first", () => {
  const waiting = { workload_id: "k", user_uuid: "u", project_id: "p", requested_slots: '{"cpu":"4"}', priority: 3, queue: "vision", submitted_at: null, expected_seconds: null, known_order: 8 };
  const sent = { workload_id: "k", user_uuid: "u", project_id: "p", requested_slots: { cpu: "4" }, priority: 3, queue: "vision", submitted_at: null, expected_seconds: null };
  expect(workloadsOf([waiting, { ...waiting, workload_id: "older", known_order: 2 }])).toEqual([{ ...sent, workload_id: "older" }, sent]);
});

it("begins with its first change, and rests on what was shown then", () => {
  const first = withParts(EMPTY, { capacity: { cpu: "2" } }, "4.a");
  expect(first.basis).toBe("4.a");
  expect(withParts(first, { options: { half_life_days: "3" } }, "6.a").basis).toBe("4.a");
  const none = withParts(first, { capacity: { cpu: "" } }, "6.a");
  expect("basis" in none).toBe(false);
  expect(withParts(none, { capacity: { cpu: "3" } }, "7.a").basis).toBe("7.a");
  expect(decode(encode(first)).basis).toBe("4.a");
});

it("is not tried with numbers that cannot be read", () => {
  expect(isFaulty(scenario)).toBe(false);
  expect(isFaulty({ ...EMPTY, capacity: { cpu: "-5" } })).toBe(true);
  expect(isFaulty({ ...EMPTY, added: [{ user: "a", project: "b", domain: "", weight: "0" }] })).toBe(true);
  expect(isFaulty({ ...EMPTY, queues: [{ name: "a", parent: "", priority: "x", weight: "", quota: {} }] })).toBe(true);
});
