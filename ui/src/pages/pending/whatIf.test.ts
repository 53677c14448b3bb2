import { expect, it } from "vitest";
import { changeOf, outcomeInWords } from "./whatIf.ts";

const nothing = { alone: "", slots_part: "", hours: "", priority: "" };

it("sends what is typed and nothing else", () => {
  expect(changeOf(nothing)).toEqual({ value: "{}" });
  expect(changeOf({ alone: "true", slots_part: "0.5", hours: "1.5", priority: " -3 " })).toEqual({ value: '{"alone":true,"slots_part":"0.5","expected_seconds":5400,"priority":-3}' });
  for (const wrong of [{ hours: "0" }, { hours: "9000" }, { hours: "x" }, { priority: "1.5" }]) {
    expect(changeOf({ ...nothing, ...wrong })).toHaveProperty("fault");
  }
});

it("tells what would become of it", () => {
  const outcome = (more: object) => outcomeInWords(JSON.stringify({ starts: true, agents: [], evicted_kernels: 0, waiting: null, ...more }));
  expect(outcome({})).toBe("It would start now.");
  expect(outcome({ agents: ["n1", "n1", "n2"], evicted_kernels: 2 })).toBe("It would start now on n1, n2; 2 kernels would be evicted for it.");
  const waiting = { reason: "behind", details: {}, blocked_by: ["w1"], reserved_at: null };
  expect(outcome({ starts: false, waiting })).toBe("It would wait. It waits behind w1, which does not fit now.");
  expect(outcome({ waiting })).toBe("It would start now. Further members would wait: It waits behind w1, which does not fit now.");
});
