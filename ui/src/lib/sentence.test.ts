import { expect, it } from "vitest";
import { sentence, shortened } from "./sentence.ts";

it("makes sentences of what the server says", () => {
  expect(sentence("domains differ, but `order` is `flat`, at 11.5 %")).toEqual(["Domains differ, but ", "order", " is ", "flat", ", at 11.5 %."]);
  expect(sentence("It has used less.")).toEqual(["It has used less."]);
});

it("shortens numbers, and leaves those that are short", () => {
  expect(shortened("0.029992188739338156 / 3 is less than 0.25, on 2026-11-23")).toBe("0.0299922 / 3 is less than 0.25, on 2026-11-23");
  expect(shortened("2 ^ -(0.015968458513940142 / 1) = 0.988992538382")).toBe("2 ^ -(0.0159685 / 1) = 0.988993");
});
