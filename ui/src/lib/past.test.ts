import { expect, it } from "vitest";
import { readDay } from "./past.ts";

it("reads days that are over, and nothing else", () => {
  expect(readDay("2026-01-12", "2026-01-13")).toBe("2026-01-12");
  expect(readDay("2026-01-13", "2026-01-13")).toBe("2026-01-13");
  for (const text of [null, "", "yesterday", "2026-01-14", "2026-02-30", "2025-13-01", "2026-1-2"]) expect(readDay(text, "2026-01-13")).toBeNull();
});
