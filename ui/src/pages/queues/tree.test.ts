import { expect, it } from "vitest";
import { inTree } from "./index.tsx";

it("puts queues below their parents", () => {
  const queue = (name: string, parent: string | null) => ({ name, parent });
  const tree = inTree([queue("b", null), queue("a1", "a"), queue("a", null), queue("lost", "gone"), queue("a11", "a1")]);
  expect(tree.map(({ queue, depth }) => `${depth} ${queue.name}`)).toEqual(["0 b", "0 a", "1 a1", "2 a11", "0 lost"]);
});
