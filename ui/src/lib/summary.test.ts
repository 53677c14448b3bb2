import { expect, it } from "vitest";
import type { Simulated } from "./change.ts";
import { summary } from "./summary.ts";

const simulated = (changed: number, risen: number, count: number, moved: number): Simulated => {
  const list = { changed, risen, fallen: risen, items: [] };
  return {
    config_revision: "1.0", applied: null, domains: list, projects: list, users: list, winners: [], losers: [],
    pending: { count, moved }, workloads: null, warnings: [], fairness: [],
  };
};

it("says that waiting kernels change place where no share changes", () => {
  expect(summary(simulated(0, 0, 0, 0))).toBe("Nothing would change.");
  expect(summary(simulated(0, 0, 3, 0))).toBe("Nothing would change.");
  expect(summary(simulated(0, 0, 3, 2))).toBe("No share would change. 2 of 3 waiting kernels would change place.");
  expect(summary(simulated(4, 0, 0, 0))).toBe("Factors would change, and no user's rank.");
  expect(summary(simulated(4, 1, 5, 5))).toBe(
    "1 user would rise and 1 user would fall. 5 of 5 waiting kernels would change place.",
  );
});
