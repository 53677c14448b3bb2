import { expect, it } from "vitest";
import { facts } from "../../lib/metadata.ts";
import { parse, text } from "./options.ts";

const option = (key: string) => facts().options.find((option) => option.key === key)!;

it("reads what a person typed", () => {
  expect(parse(option("half_life_days"), " 14 ")).toEqual({ value: 14 });
  expect(parse(option("half_life_days"), "")).toEqual({ value: null });
  expect(parse(option("resource_weights"), '{"cpu":"1"}')).toEqual({ value: { cpu: "1" } });
  expect(parse(option("order"), "tiered")).toEqual({ value: "tiered" });
});

it("says what is wrong", () => {
  for (const [key, wrong] of [["half_life_days", "0"], ["half_life_days", "1.5"], ["division", "[]"], ["division", "{"], ["cycle", '{"depth": 0}']] as const) {
    expect(parse(option(key), wrong)).toHaveProperty("fault");
  }
});

it("shows what is set", () => {
  expect(text(option("half_life_days"), { half_life_days: 3 })).toBe("3");
  expect(text(option("half_life_days"), {})).toBe("");
  expect(text(option("division"), { division: { algorithm: "drf" } })).toBe('{"algorithm":"drf"}');
});
