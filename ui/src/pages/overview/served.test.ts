import { expect, it } from "vitest";
import { served } from "./served.ts";

it("lists every domain, also those that were not active", () => {
  const entries = [{ domain_name: "b", used_share: "0.75", entitled_share: "0.5" }];
  expect(served(["a", "b"], entries)).toEqual([
    { name: "a", used: 0, entitled: 0 },
    { name: "b", used: 0.75, entitled: 0.5 },
  ]);
});
