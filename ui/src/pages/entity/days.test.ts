import { expect, it } from "vitest";
import { byDay, slotsOf } from "./days.ts";

const bucket = (from: string, to: string, cpu: number) => ({
  period_start: from,
  period_end: to,
  resource_usage: JSON.stringify({ cpu: String(cpu * 3600) }),
  capacity_snapshot: JSON.stringify({ cpu: "2" }),
});
const options = { decay: "flat", half_life_days: 2, lookback_days: 5 };

it("lays buckets out as days, with what still counts", () => {
  const days = byDay([bucket("2026-01-10", "2026-01-10", 4), bucket("2026-01-07", "2026-01-08", 8)], "cpu", "2026-01-10", 4, options);
  expect(days.days).toEqual(["2026-01-07", "2026-01-08", "2026-01-09", "2026-01-10"]);
  expect(days.used).toEqual([4, 4, 0, 4]);
  expect(days.counts).toEqual([2, 2, 0, 4]);
  expect(days.offered).toEqual([48, 48, null, 48]);
});

it("finds the slots that were used", () => {
  expect(slotsOf([bucket("2026-01-10", "2026-01-10", 4)])).toEqual(["cpu"]);
  expect(slotsOf([])).toEqual([]);
});
