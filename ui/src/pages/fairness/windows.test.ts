import { expect, it } from "vitest";
import { daysOf, endingAt, windowName } from "./windows.ts";

it("ends windows on a day", () => {
  expect([daysOf("7d"), daysOf("28d"), daysOf("1h"), daysOf("now")]).toEqual([7, 28, 0, 0]);
  expect(endingAt("2026-01-13", 7)).toBe("2026-01-07..2026-01-13");
  expect(endingAt("2026-01-13", 1)).toBe("2026-01-13..2026-01-13");
});

it("calls windows by their length", () => {
  expect(["now", "1h", "1d", "7d", "12h"].map(windowName)).toEqual(["now", "last hour", "last day", "7 days", "12 hours"]);
});
