import { expect, it } from "vitest";
import { months } from "./months.ts";

it("are whole, and this one ends today", () => {
  const all = months("2026-03-15");
  expect(all.slice(0, 3)).toEqual([
    { name: "this month", from: "2026-03-01", to: "2026-03-15" },
    { name: "February 2026", from: "2026-02-01", to: "2026-02-28" },
    { name: "January 2026", from: "2026-01-01", to: "2026-01-31" },
  ]);
  expect(all).toHaveLength(13);
});
