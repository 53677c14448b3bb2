import { expect, it } from "vitest";
import { stacked, type PartOfDay } from "./parts.ts";

const row = (user: string, first_day: string, cpu: number) => ({ first_day, project_id: null, project_name: null, user_uuid: user, user_name: user === "x" ? null : user, resource_usage: JSON.stringify({ cpu: String(cpu * 3600) }) }) as unknown as PartOfDay;
const DAYS = { first: "2026-01-01", last: "2026-01-02", count: 2 };

it("puts the largest first, and the rest together", () => {
  const rows = [row("a", "2026-01-01", 1), row("b", "2026-01-01", 5), row("b", "2026-01-02", 1), row("x", "2026-01-02", 3), row("d", "2026-01-02", 2), row("b", "2026-01-03", 9)];
  expect(stacked(rows, "cpu", DAYS, 2)).toEqual([
    { name: "b", values: [5, 1] },
    { name: "x", values: [0, 3] },
    { name: "2 others", values: [1, 2] },
  ]);
});

it("never calls one alone the others, and leaves out who used nothing", () => {
  const rows = [row("a", "2026-01-01", 1), row("b", "2026-01-01", 5), row("c", "2026-01-01", 2), row("d", "2026-01-01", 0)];
  expect(stacked(rows, "cpu", DAYS, 2).map(({ name }) => name)).toEqual(["b", "c", "a"]);
  expect(stacked(rows, "mem", DAYS)).toEqual([]);
});
