import { expect, it } from "vitest";
import { helpInWords, qualityInWords, startInWords } from "./forecasts.ts";

const AS_OF = "2026-01-13T12:00:00Z";
const times = { p10: "2026-01-13T12:05:00Z", p50: "2026-01-13T12:40:00Z", p90: "2026-01-13T14:00:00Z" };

it("a start is the median with its interval, or the reason why it is not known", () => {
  expect(startInWords({ ...times, not_known_yet: null, as_of: AS_OF })).toBe("in 40 min (5 min to 2.0 h), as of 12:00 UTC");
  const now = { p10: AS_OF, p50: AS_OF, p90: AS_OF };
  expect(startInWords({ ...now, not_known_yet: null, as_of: AS_OF })).toBe("now, as of 12:00 UTC");
  expect(startInWords({ p10: null, p50: null, p90: null, not_known_yet: "few_ended_jobs", as_of: AS_OF })).toBe("Not known yet: too few jobs have ended here.");
  expect(startInWords(null)).toBe("Not known yet: a forecast is made each minute.");
});

it("a change that helps has its own times", () => {
  expect(helpInWords({ ...times, change: "half_slots", queue: null, as_of: AS_OF })).toBe("With half of what it asks for: in 40 min (5 min to 2.0 h)");
  expect(helpInWords({ ...times, change: "queue", queue: "wide", as_of: AS_OF })).toBe("In the queue wide: in 40 min (5 min to 2.0 h)");
});

it("the quality says how many starts were in time", () => {
  expect(qualityInWords({ starts: 200, inside: 163, median_error_seconds: 1980 })).toBe("163 of 200 in time, 33 min off");
  expect(qualityInWords({ starts: 0, inside: 0, median_error_seconds: null })).toBe("no start yet");
});
