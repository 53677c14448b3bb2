import { expect, it } from "vitest";
import { draftOf, inputOf } from "./draft.ts";
import type { Configured } from "./query.ts";

const queue = (over_quota_weight: string | null) =>
  ({ name: "a", parent: null, priority: 0, weight: "1", quota: '{"cpu":"4","mem":"2147483648","fpga":"1"}', limit: '{"cpu":"unlimited"}', over_quota_weight, reclaimable: true }) as unknown as Configured;
const KNOWN = ["cpu", "mem"];

it("shows amounts in the units of readers, and writes what the form does not show as it was", () => {
  const draft = draftOf(queue('"2"'), KNOWN);
  expect([draft.quota, draft.limit]).toEqual([{ cpu: "4", mem: "2" }, { cpu: "unlimited", mem: "" }]);
  const input = inputOf({ ...draft, limit: { cpu: "", mem: "0.5" } }, queue('"2"'));
  expect([JSON.parse(String(input.quota)), JSON.parse(String(input.limit))]).toEqual([{ fpga: "1", cpu: "4", mem: "2147483648" }, { mem: "536870912" }]);
  // The server says what is wrong.
  expect(JSON.parse(String(inputOf({ ...draft, quota: { cpu: "much" } }, undefined).quota))).toEqual({ cpu: "much" });
});

it("has one over-quota weight, or others for single slots", () => {
  const weights = (before: string | null, change: object) => inputOf({ ...draftOf(queue(before), KNOWN), ...change }, queue(before)).over_quota_weight;
  expect([weights(null, {}), weights('"2"', {}), weights('"2"', { overQuota: "" }), weights(null, { overQuota: "3" })]).toEqual([null, '"2"', null, '"3"']);
  expect(weights('"2"', { overQuotaOf: { cpu: "5", mem: "" } })).toBe('{"cpu":"5","mem":"2"}');
  expect(weights('{"cpu":"5","fpga":"7"}', {})).toBe('{"fpga":"7","cpu":"5"}');
  expect(draftOf(queue('{"cpu":"5"}'), KNOWN)).toMatchObject({ overQuota: "", overQuotaOf: { cpu: "5", mem: "" } });
});
