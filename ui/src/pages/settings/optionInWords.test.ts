import { expect, it } from "vitest";
import { facts } from "../../lib/metadata.ts";
import { fieldsFor } from "./parts.ts";
import { optionInWords } from "./optionInWords.ts";

const option = (key: string) => facts().options.find((option) => option.key === key)!;

it("says what an option is set to in words", () => {
  expect(optionInWords(option("resource_weights"), '{"cuda.device":"1","mem":"0.1"}')).toBe("CUDA GPUs 1, Memory 0.1");
  expect(optionInWords(option("division"), '{"algorithm":"drf","options":{"search_budget_ms":5,"strategies":["quota"]}}')).toBe('algorithm drf, search budget ms 5, strategies ["quota"]');
  expect([optionInWords(option("half_life_days"), " 3 "), optionInWords(option("division"), ""), optionInWords(option("division"), "{")]).toEqual(["3", "default", "{"]);
});

it("has the fields that an algorithm reads", () => {
  const names = (algorithm: string) => fieldsFor(option("division"), algorithm).map(({ path }) => path.at(-1));
  expect(names("")).toContain("over_quota_by");
  expect(names("min_share")).toContain("rule");
  expect(names("drf")).toEqual(["algorithm", "policy", "reclaimer_utilization_multiplier", "node_order", "search_budget_ms"]);
});

it("has the fields of a cycle", () => {
  expect(fieldsFor(option("cycle"), "").map(({ path }) => path.join("/"))).toEqual(["order", "queue_order", "backfill", "depth", "search_budget_ms"]);
});
