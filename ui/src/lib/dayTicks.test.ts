import { expect, it } from "vitest";
import { dayRange, dayTicks } from "./dayTicks.ts";

const seconds = (moment: string): number => Date.parse(moment) / 1000;
const ticks = (from: string, to: string, fitting: number): string[] => dayTicks(seconds(from), seconds(to), fitting).map((at) => new Date(at * 1000).toISOString());
const days = (from: string, to: string, fitting: number): string[] => ticks(from, to, fitting).map((moment) => moment.replace("T00:00:00.000Z", ""));

it("names days of UTC, wherever the axis begins", () => {
  // Summer time of Europe ends on 25 October.
  expect(days("2026-10-24T12:00:00Z", "2026-10-28T12:00:00Z", 8)).toEqual(["2026-10-25", "2026-10-26", "2026-10-27", "2026-10-28"]);
  expect(days("2026-10-25T00:00:00Z", "2026-10-27T00:00:00Z", 8)).toEqual(["2026-10-25", "2026-10-26", "2026-10-27"]);
  expect(days("2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", 8)).toEqual(["2026-11-22"]);
});

it("names every second day, Mondays, or the first days of months where there is no room for all", () => {
  const since = "2026-10-24T12:00:00Z";
  expect(days(since, "2026-11-07T12:00:00Z", 14)).toHaveLength(14);
  expect(days(since, "2026-11-07T12:00:00Z", 7.9)).toEqual(["2026-10-26", "2026-10-28", "2026-10-30", "2026-11-01", "2026-11-03", "2026-11-05", "2026-11-07"]);
  expect(days(since, "2026-11-22T12:00:00Z", 5)).toEqual(["2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16"]);
  expect(days(since, "2026-12-22T12:00:00Z", 5)).toEqual(["2026-10-26", "2026-11-09", "2026-11-23", "2026-12-07", "2026-12-21"]);
  expect(days("2026-03-01T00:00:00Z", "2027-02-28T00:00:00Z", 15)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((month) => new Date(Date.UTC(2026, month - 1)).toISOString().slice(0, 10)));
  expect(days("2026-03-02T00:00:00Z", "2027-02-28T00:00:00Z", 4)).toEqual(["2026-04-01", "2026-07-01", "2026-10-01", "2027-01-01"]);
});

it("names a day at least, never more than fit, and no moment within a day", () => {
  for (const count of [1, 2, 9, 28, 60, 200, 365, 4000]) {
    for (const fitting of [2, 4, 15]) {
      const found = dayTicks(seconds("2026-10-25T00:00:00Z"), seconds("2026-10-25T00:00:00Z") + count * 86_400, fitting);
      expect(found.length, `${count} days, ${fitting} labels`).toBeLessThanOrEqual(fitting);
      expect(found.length).toBeGreaterThan(0);
      expect(found.every((at) => at % 86_400 === 0)).toBe(true);
    }
  }
});

it("reaches from the first day to the last, and half a day beyond bars and a single day", () => {
  const [first, last] = [seconds("2026-10-24T00:00:00Z"), seconds("2026-10-28T00:00:00Z")];
  expect(dayRange([first, last], false)).toEqual([first, last]);
  expect(dayRange([first, last], true)).toEqual([first - 43_200, last + 43_200]);
  expect(dayRange([first], false)).toEqual([first - 43_200, first + 43_200]);
});
