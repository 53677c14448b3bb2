import { expect, it } from "vitest";
import { sideBySide, sumOfOwners } from "./orders.ts";

const row = (workload_id: string, place: number, current_place: number) => ({ workload_id, user_name: "ann", project_name: "ml", place, current_place });

it("stands both orders beside each other", () => {
  const rows = sideBySide([row("c", 1, 3), row("a", 2, 1), row("b", 3, 2)]);
  expect(rows.map(({ place, ours, current }) => [place, ours?.workload_id, current?.workload_id])).toEqual([
    [1, "c", "a"],
    [2, "a", "b"],
    [3, "b", "c"],
  ]);
});

it("leaves out what the report does not show", () => {
  expect(sideBySide([row("c", 1, 300)])[0]?.current).toBeUndefined();
});

it("sums the days of each owner", () => {
  const day = (user_name: string, places_gained: number) => ({ user_name, project_name: "ml", places_gained });
  const sums = sumOfOwners([day("bob", -3), day("ann", 1), day("bob", 1), day("ann", 2), day("cy", 0)]);
  expect(sums.map((sum) => [sum.user_name, sum.places_gained])).toEqual([
    ["ann", 3],
    ["cy", 0],
    ["bob", -2],
  ]);
});
