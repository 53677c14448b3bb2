import { expect, it } from "vitest";
import { byDay, filled, slotsOf } from "./days.ts";

const bucket = (from: string, to: string, cpu: number) => ({
  period_start: from,
  period_end: to,
  resource_usage: JSON.stringify({ cpu: String(cpu * 3600) }),
  capacity_snapshot: JSON.stringify({ cpu: "2" }),
});
const weights = ["1", "1", "0.5", "0.5", "0.25"];

it("lays buckets out as days, with what still counts", () => {
  const days = byDay([bucket("2026-01-10", "2026-01-10", 4), bucket("2026-01-07", "2026-01-08", 8)], "cpu", { first: "2026-01-07", last: "2026-01-10", count: 4 }, "2026-01-10", weights);
  expect(days.days).toEqual(["2026-01-07", "2026-01-08", "2026-01-09", "2026-01-10"]);
  expect(days.used).toEqual([4, 4, 0, 4]);
  expect(days.counts).toEqual([2, 2, 0, 4]);
  expect(days.offered).toEqual([48, 48, null, 48]);
});

it("finds the slots that were used", () => {
  expect(slotsOf([bucket("2026-01-10", "2026-01-10", 4)])).toEqual(["cpu"]);
  expect(slotsOf([])).toEqual([]);
});

it("looks back from a later day at a range that is over", () => {
  const days = byDay([bucket("2026-01-07", "2026-01-08", 8)], "cpu", { first: "2026-01-07", last: "2026-01-08", count: 2 }, "2026-01-10", weights);
  expect([days.used, days.counts]).toEqual([[4, 4], [2, 2]]);
});

it("knows what was offered on days of which there is nothing", () => {
  expect(filled([null, 4, null, 8, null])).toEqual([4, 4, 4, 8, 8]);
  expect(filled([null])).toEqual([null]);
});
