import { expect, it } from "vitest";
import type { BucketPart } from "../../lib/explanation.ts";
import { conclusion, waterfall } from "./waterfall.ts";

const bucket = (day: string, contribution: string): BucketPart => ({ period_start: day, period_end: day, resource_usage: {}, age_days: 0, decay_weight: "1", normalized_usage: "0", contribution, part: "0" });

it("puts days one behind the other, the smallest together", () => {
  const steps = waterfall([bucket("2026-01-01", "0.1"), bucket("2026-01-02", "0.2"), bucket("2026-01-03", "0.7"), bucket("2026-01-04", "0")], 2);
  expect(steps.map(({ name, from, length }) => [name, Number(from.toFixed(6)), Number(length.toFixed(6))])).toEqual([
    ["2 other days", 0, 0.1],
    ["2026-01-02", 0.1, 0.2],
    ["2026-01-03", 0.3, 0.7],
    ["all that counts", 0, 1],
  ]);
});

it("is empty where nothing counts", () => {
  expect(waterfall([])).toEqual([]);
});

it("goes on from the sum to the weight, the factor and the place", () => {
  const formula = { normalized_usage: "1", effective_weight: "2", exponent: "0.5", fair_share_factor: "0.75", text: "" };
  const steps = conclusion({ formula, place: 3, of: 4, buckets: [bucket("2026-01-01", "1")] });
  expect(steps.map(({ name, from, length, shown }) => [name, from, length, shown])).toEqual([
    ["÷ weight 2", 0, 0.5, "0.5"],
    ["→ factor", 0, 0.75, "0.7500"],
    ["→ place", 0.5, 0.25, "3 of 4"],
  ]);
});

it("cuts what a weight below 1 makes longer than the days, and has no place outside the line", () => {
  const formula = { normalized_usage: "1", effective_weight: "0.5", exponent: "2", fair_share_factor: "0.25", text: "" };
  expect(conclusion({ formula, place: null, of: 4, buckets: [bucket("2026-01-01", "1")] }).map(({ length }) => length)).toEqual([1, 0.25]);
});
