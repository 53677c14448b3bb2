import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ratioShown, ruleInWords } from "./refusals.ts";

it("every rule of the API has a sentence", () => {
  const document = JSON.parse(readFileSync(new URL("../../../../openapi/fairshared.json", import.meta.url), "utf8")) as { components: { schemas: { ReclaimRule: { enum: string[] } } } };
  const rules = document.components.schemas.ReclaimRule.enum;
  expect(rules.length).toBeGreaterThan(10);
  for (const rule of rules) expect(ruleInWords(rule), rule).toMatch(/^(?!.*_)[A-Z][a-z]+ .*\.$/);
});

it("ratios are percentages, and a side without one has none", () => {
  expect([ratioShown("1.384615384616"), ratioShown("inf"), ratioShown(null), ratioShown(undefined)]).toEqual(["138 %", "∞", "–", "–"]);
});
