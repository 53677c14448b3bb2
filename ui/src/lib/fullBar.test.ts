import { expect, it } from "vitest";
import { fullBar } from "./fullBar.ts";

it("is round, and cuts nothing", () => {
  expect([[], [0.004], [0.31, 0.1], [0.4], [0.93], [1], [1.2]].map(fullBar)).toEqual([0.01, 0.01, 0.4, 0.4, 1, 1, 2]);
});
