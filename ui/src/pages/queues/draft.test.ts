import { expect, it } from "vitest";
import { changedFields, draftFaults, draftOf, inputOf, rebased } from "./draft.ts";
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

it("is neither tried nor saved with numbers that cannot be read", () => {
  const draft = draftOf(queue('"2"'), KNOWN);
  expect(draftFaults(draft)).toEqual({});
  expect(draftFaults({ ...draft, priority: "", quota: { cpu: "unlimited" }, weight: "" })).toEqual({});
  const faulty = draftFaults({ ...draft, priority: "high", weight: "-1", overQuota: "x", quota: { cpu: "much" }, limit: { mem: "-5" }, overQuotaOf: { cpu: "1,5" } });
  expect(Object.keys(faulty).toSorted()).toEqual(["limit/mem", "over_quota_weight", "over_quota_weight/cpu", "priority", "quota/cpu", "weight"]);
});

it("on another state of its queue keeps what it changes, and takes the rest from there", () => {
  const begun = draftOf(queue('"2"'), KNOWN);
  const draft = { ...begun, quota: { cpu: "8", mem: "2" }, weight: "5" };
  const now = { ...begun, quota: { cpu: "6", mem: "3" }, priority: "7" };
  expect(rebased(draft, begun, now)).toEqual({ ...begun, quota: { cpu: "8", mem: "3" }, weight: "5", priority: "7" });
  expect(changedFields(draft, begun, now, KNOWN)).toEqual([
    { name: "Quota of CPU, cores", begun: "4", now: "6", draft: "8" },
    { name: "Weight", begun: "1", now: "1", draft: "5" },
  ]);
  expect(changedFields(draft, begun, null, ["cpu"]).map(({ now: there }) => there)).toEqual(["no such queue", "no such queue"]);
});
