import { expect, it } from "vitest";
import { classOptions } from "./classes.ts";

it("offers all usage, usage without a class, and each class", () => {
  expect(classOptions(["high", ""], null)).toEqual([["", "all"], ["=", "without a class"], ["=high", "high"]]);
});

it("keeps a chosen class that has no usage in these days", () => {
  expect(classOptions(["high"], "low")).toEqual([["", "all"], ["=high", "high"], ["=low", "low"]]);
  expect(classOptions([], "")).toEqual([["", "all"], ["=", "without a class"]]);
});
