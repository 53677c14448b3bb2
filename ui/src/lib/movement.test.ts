import { expect, it } from "vitest";
import { movement } from "./movement.ts";

it("says how far a user rose or fell, and since when", () => {
  expect(movement(3, 5, "2026-01-12")).toEqual({ by: 2, mark: "▲ 2", said: "up 2 ranks since the end of 12 Jan 2026, from rank 5" });
  expect(movement(6, 5, null)).toEqual({ by: -1, mark: "▼ 1", said: "down 1 rank, from rank 5" });
  expect(movement(5, 5, "2026-01-12")).toEqual({ by: 0, mark: "", said: "the same rank since the end of 12 Jan 2026" });
});

it("says nothing where a rank is not known", () => {
  expect(movement(null, 5, "2026-01-12")).toBeNull();
  expect(movement(5, null, "2026-01-12")).toBeNull();
});
