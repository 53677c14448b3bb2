import { expect, it } from "vitest";
import { changeOf, decode, EMPTY, encode, type Scenario } from "./scenario.ts";

const scenario: Scenario = {
  weights: [
    { tier: "domain", name: "重要", project: "", weight: "2" },
    { tier: "user", name: "alice", project: "vision", weight: "" },
    { tier: "user", name: "bob", project: "", weight: "1" },
  ],
  options: { half_life_days: "14", scheduler: "drf" },
  capacity: { mem: "2", cpu: "" },
  projects: [{ project: "vision", domain: "sales" }],
};

it("survives the way through an address", () => {
  expect(decode(encode(scenario))).toEqual(scenario);
  expect(encode(scenario)).toMatch(/^[\w-]+$/);
  expect(decode("§§§")).toEqual(EMPTY);
});

it("becomes what the server takes", () => {
  expect(changeOf(scenario, (_, text) => Number(text))).toEqual({
    weights: [
      { target_type: "domain", domain_name: "重要", weight: "2" },
      { target_type: "user", user: "alice", project: "vision", weight: null },
    ],
    scheduler: "drf",
    scheduler_opts: { half_life_days: 14 },
    capacity: { mem: String(2 * 2 ** 30) },
    projects: [{ project: "vision", domain_name: "sales" }],
  });
  expect(changeOf(EMPTY, String)).toBeNull();
});
