import { expect, it } from "vitest";
import { summed } from "./records.ts";

it("sums records by kernel and slot", () => {
  const record = (kernel_id: string, resource_usage: string) => ({ kernel_id, resource_usage });
  const sums = summed([record("a", '{"cpu":"10"}'), record("b", '{"cpu":"1"}'), record("a", '{"cpu":"5","mem":"2"}')]);
  expect([...sums]).toEqual([
    ["a", { cpu: 15, mem: 2 }],
    ["b", { cpu: 1 }],
  ]);
});
