import { expect, it } from "vitest";
import { asNow, inTree } from "./division.ts";

it("puts queues below their parents", () => {
  const queue = (name: string, parent: string | null) => ({ name, parent });
  const tree = inTree([queue("b", null), queue("a1", "a"), queue("a", null), queue("lost", "gone"), queue("a11", "a1")]);
  expect(tree.map(({ queue, depth }) => `${depth} ${queue.name}`)).toEqual(["0 b", "0 a", "1 a1", "2 a11", "0 lost"]);
});

it("gives queues of a past day the parents and the order that they have now", () => {
  const now = [{ name: "b", parent: null }, { name: "a", parent: null }, { name: "a1", parent: "a" }, { name: "b1", parent: "b" }];
  const past = asNow(["a1", "a", "b1", "b", "default", "gone"].map((queue) => ({ queue })), now);
  expect(inTree(past).map(({ queue, depth }) => `${depth} ${queue.name}`)).toEqual(["0 b", "1 b1", "0 a", "1 a1", "0 default", "0 gone"]);
});
