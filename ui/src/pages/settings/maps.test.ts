import { expect, it } from "vitest";
import { keysOf, partOf, withPart } from "./maps.ts";
import { mergePatch } from "./mergePatch.ts";

const DIVISION = '{"algorithm":"drf","options":{"rounding":"whole","tiers":[["gang"]]}}';

it("are read and written part by part", () => {
  expect([partOf(DIVISION, ["algorithm"]), partOf(DIVISION, ["options", "rounding"]), partOf(DIVISION, ["options", "tiers"]), partOf("", ["algorithm"])]).toEqual(["drf", "whole", "", ""]);
  expect(withPart(DIVISION, ["options", "rounding"], undefined)).toBe('{"algorithm":"drf","options":{"tiers":[["gang"]]}}');
  expect(withPart('{"cpu":"1"}', ["mem"], "0.5")).toBe('{"cpu":"1","mem":"0.5"}');
  expect(keysOf('{"cpu":"1","mem":"0.5"}')).toEqual(["cpu", "mem"]);
});

it("are nothing once all of them is taken away", () => {
  expect(withPart('{"options":{"rounding":"whole"}}', ["options", "rounding"], undefined)).toBe("");
  expect(withPart("no JSON", ["cpu"], "1")).toBe('{"cpu":"1"}');
});

it("are changed at every depth", () => {
  expect(mergePatch({ algorithm: "drf", options: { rounding: "whole", rule: "floor" } }, { algorithm: "drf", options: { rule: "on_top" } })).toEqual({ options: { rounding: null, rule: "on_top" } });
  expect(mergePatch({ cpu: "1", mem: "2" }, { cpu: "1", mem: "3" })).toEqual({ mem: "3" });
  expect(mergePatch({ cpu: "1" }, null)).toBeNull();
  expect(mergePatch(undefined, { cpu: "1" })).toEqual({ cpu: "1" });
});
