import { expect, it } from "vitest";
import { csv } from "./csv.ts";

it("writes what spreadsheets read, and no formulas", () => {
  expect(csv(["a", "b"], [["x, y", 'say "hi"'], ["=1+1", -2], [null, "-0.5"]])).toBe('a,b\r\n"x, y","say ""hi"""\r\n\'=1+1,-2\r\n,-0.5\r\n');
});

it("puts an apostrophe before a text that a spreadsheet would run, and none before a number", () => {
  const texts = ["=1+1", "+cmd|x", "-1+1", "-inf", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1"];
  const numbers = ["-1.5", "+2", "-2e-7", -3];
  expect(csv(["=head"], [texts, numbers])).toBe(`'=head\r\n'=1+1,'+cmd|x,'-1+1,'-inf,'@SUM(A1),'\t=1,"'\r=1",'\uff1d1+1\r\n-1.5,+2,-2e-7,-3\r\n`);
});
