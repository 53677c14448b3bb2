import { expect, it } from "vitest";
import { facts, type Option } from "../../lib/metadata.ts";
import { changedOptions, isEmpty, optionPatch, rebased, type Draft } from "./draft.ts";

const option = (key: string) => facts().options.find((known) => known.key === key) as Option;
const begun = { revision: "1.a", scheduler: "fairshare", values: { half_life_days: 7, resource_weights: { cpu: "1", mem: "0.5" } } };
const draft: Draft = { begun, edits: { half_life_days: "14", resource_weights: '{"cpu":"2","mem":"0.5"}', lookback_days: "" } };

it("changes only what is not as it was when it was begun", () => {
  expect(changedOptions(draft).map(({ key }) => key)).toEqual(["half_life_days", "resource_weights"]);
  expect(optionPatch(option("resource_weights"), draft)).toEqual({ cpu: "2" });
  expect(isEmpty({ begun, edits: { half_life_days: "7" }, scheduler: "fairshare" })).toBe(true);
  expect(isEmpty({ begun, edits: {}, scheduler: "drf" })).toBe(false);
});

it("on another state keeps its own changes, and leaves what others changed", () => {
  const now = { revision: "3.a", scheduler: "drf", values: { half_life_days: 21, resource_weights: { cpu: "1", "cuda.device": "8" } } };
  const kept = rebased(draft, now);
  expect(kept).toEqual({ begun: now, edits: { half_life_days: "14", resource_weights: '{"cpu":"2","cuda.device":"8"}' } });
  expect(optionPatch(option("resource_weights"), kept)).toEqual({ cpu: "2" });
  expect(rebased({ begun, edits: { resource_weights: "" } }, now).edits).toEqual({ resource_weights: "" });
});
