import { expect, it } from "vitest";
import { rangeOf } from "./range.ts";

it("is read from the address", () => {
  const range = (query: string) => rangeOf({ from: null, to: null, days: null, ...Object.fromEntries(new URLSearchParams(query)) }, "2026-01-31");
  expect(range("")).toEqual({ first: "2026-01-04", last: "2026-01-31", count: 28 });
  expect(range("days=14")).toEqual({ first: "2026-01-18", last: "2026-01-31", count: 14 });
  expect(range("from=2026-01-10&to=2026-01-12")).toEqual({ first: "2026-01-10", last: "2026-01-12", count: 3 });
  expect(range("from=2026-01-30")).toEqual({ first: "2026-01-30", last: "2026-01-31", count: 2 });
  // A range that lies ahead, ends before it begins, or is no day, is left out.
  expect(range("to=2026-02-10&days=x")).toEqual({ first: "2026-01-04", last: "2026-01-31", count: 28 });
  expect(range("from=2026-01-20&to=2026-01-19").last).toBe("2026-01-19");
  expect(range("from=2020-01-01").count).toBe(366);
});
