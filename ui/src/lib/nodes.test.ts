import { expect, test } from "vitest";
import { nodeNames } from "./nodes.ts";

test("a cell has the first names of many nodes", () => {
  expect(nodeNames([])).toBe("–");
  expect(nodeNames(["n1"])).toBe("n1");
  expect(nodeNames(["n1", "n2", "n3"])).toBe("n1, n2, n3");
  expect(nodeNames(["n1", "n2", "n3", "n4", "n5"])).toBe("n1, n2, n3 and 2 more");
});
