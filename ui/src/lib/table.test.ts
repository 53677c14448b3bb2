import { expect, it } from "vitest";
import { json, withoutTools } from "./table.ts";

it("leaves out columns of buttons", () => {
  const table = { head: ["Name", "Now", "Rank"], rows: [["a", null, "1"], ["b", null, null]] };
  expect(withoutTools(table)).toEqual({ head: ["Name", "Rank"], rows: [["a", "1"], ["b", null]] });
  expect(withoutTools({ head: ["Name"], rows: [] })).toEqual({ head: ["Name"], rows: [] });
});

it("is a list of objects in JSON", () => {
  expect(JSON.parse(json({ head: ["Name", "Rank"], rows: [["a", "1"], ["b", null]] }))).toEqual([{ Name: "a", Rank: "1" }, { Name: "b", Rank: null }]);
});
