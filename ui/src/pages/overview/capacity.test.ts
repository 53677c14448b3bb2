import { expect, it } from "vitest";
import { onOneScale } from "./capacity.ts";

it("shows all that is waited for, with the capacity as a mark where that is more", () => {
  expect(onOneScale(100, 50, 25)).toEqual({ used: 0.5, wanted: 0.75, capacity: null });
  expect(onOneScale(100, 50, 50)).toEqual({ used: 0.5, wanted: 1, capacity: null });
  expect(onOneScale(50, 50, 150)).toEqual({ used: 0.25, wanted: 1, capacity: 0.25 });
  expect(onOneScale(0, 0, 8)).toEqual({ used: 0, wanted: 1, capacity: 0 });
  expect(onOneScale(0, 0, 0)).toEqual({ used: 0, wanted: 0, capacity: null });
});
