import { expect, it } from "vitest";
import { waterfall, type BucketPart } from "./explanation.ts";

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
