import { expect, it } from "vitest";
import { csv } from "./csv.ts";

it("writes what spreadsheets read, and no formulas", () => {
  expect(csv(["a", "b"], [["x, y", 'say "hi"'], ["=1+1", -2], [null, "-0.5"]])).toBe('a,b\r\n"x, y","say ""hi"""\r\n\'=1+1,-2\r\n,-0.5\r\n');
});
