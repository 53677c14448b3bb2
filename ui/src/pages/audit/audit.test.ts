import { expect, it } from "vitest";
import { entryNumber } from "./index.tsx";

it("calls an entry as REST does", () => {
  expect(entryNumber("WyJBdWRpdEVudHJ5IixbIjE2Il1d")).toBe("16");
});
