import { expect, it } from "vitest";
import { lettersAt } from "./letters.ts";

it("writes the letters of one day, and of days that are near, beside one another and once", () => {
  const mark = (at: number, letter: string) => ({ at, letter });
  expect(lettersAt([mark(100, "W"), mark(40, "G"), mark(160, "F")], 10)).toEqual([
    { at: 40, text: "G" },
    { at: 100, text: "W" },
    { at: 160, text: "F" },
  ]);
  expect(lettersAt([mark(40, "W"), mark(40, "G"), mark(40, "W")], 10)).toEqual([{ at: 40, text: "W·G" }]);
  expect(lettersAt([mark(40, "W"), mark(48, "W"), mark(70, "F")], 10)).toEqual([
    { at: 44, text: "W" },
    { at: 70, text: "F" },
  ]);
});
