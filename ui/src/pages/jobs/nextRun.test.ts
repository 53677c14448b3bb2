import { expect, it } from "vitest";
import { nextRun } from "./nextRun.ts";

const NOW = Date.parse("2026-01-13T12:00:00Z");

it.each([
  ["2026-01-13T12:05:00Z", "in 5 minutes"],
  ["2026-01-14T03:00:00Z", "in 15 hours"],
  ["2026-01-13T12:00:01Z", "in 1 second"],
  ["2026-01-13T12:00:00Z", "due"],
  ["2026-01-10T03:00:00Z", "due"],
])("a job whose next run is at %s runs %s", (at, words) => {
  expect(nextRun(at, NOW)).toBe(words);
});
