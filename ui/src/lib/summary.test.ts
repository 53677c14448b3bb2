import { expect, it } from "vitest";
import type { Simulated } from "./change.ts";
import { summary } from "./summary.ts";

const simulated = (changed: number, risen: number, count: number, moved: number, starts: Partial<Simulated["pending"]> = {}): Simulated => {
  const list = { changed, risen, fallen: risen, items: [] };
  return {
    config_revision: "1.0", applied: null, domains: list, projects: list, users: list, winners: [], losers: [],
    pending: { count, moved, starts_before: 0, starts_after: 0, start_changes: [], ...starts }, workloads: null, warnings: [], fairness: [],
  };
};

it("says that waiting workloads change place where no share changes", () => {
  expect(summary(simulated(0, 0, 0, 0))).toBe("Nothing would change.");
  expect(summary(simulated(0, 0, 3, 0))).toBe("Nothing would change.");
  expect(summary(simulated(0, 0, 3, 2))).toBe("No share would change. 2 of 3 waiting workloads would change place.");
  expect(summary(simulated(4, 0, 0, 0))).toBe("Factors would change, and no user's rank.");
  expect(summary(simulated(4, 1, 5, 5))).toBe(
    "1 user would rise and 1 user would fall. 5 of 5 waiting workloads would change place.",
  );
});

it("says what would start now", () => {
  const start_changes = [{ workload_id: "w", starts_after: true }];
  expect(summary(simulated(0, 0, 3, 0, { starts_before: 1, starts_after: 2, start_changes }))).toBe("No share would change. 2 workloads would start now, not 1.");
  expect(summary(simulated(0, 0, 3, 0, { starts_before: 1, starts_after: 1, start_changes }))).toBe("No share would change. Other workloads would start now.");
});
