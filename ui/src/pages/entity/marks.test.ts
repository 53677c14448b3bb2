import { expect, it } from "vitest";
import { marksOf } from "./marks.ts";
import { named, targets } from "./who.ts";

const at = (instant: string): number => Date.parse(instant) / 1000;

it("puts what happened in one line, the last first, each change once", () => {
  const change = { id: "1", at: "2026-01-11T10:00:00Z", actor: "cli:root", action: "weights.put", reason: "a grant" };
  const marks = marksOf(
    {
      gaps: [{ started_at: "2026-01-12T00:00:00Z", ended_at: "2026-01-12T06:00:00Z", kernels: 3, gap_policy: "ignore" }],
      failed: [
        { job: "aggregate", started_at: "2026-01-10T00:00:00Z", error: "storage_full" },
        { job: "aggregate", started_at: "2025-01-10T00:00:00Z", error: null },
      ],
      changes: [change, change],
    },
    at("2026-01-01T00:00:00Z"),
    at("2026-01-31T00:00:00Z"),
  );
  expect(marks.map(({ day }) => day)).toEqual([at("2026-01-12T00:00:00Z"), at("2026-01-11T00:00:00Z"), at("2026-01-10T00:00:00Z")]);
  expect(marks.map(({ letter, name }) => `${letter} ${name}`)).toEqual([
    "G a gap until 2026-01-12T06:00:00Z: 3 kernels, not counted meanwhile",
    "W cli:root changed a weight: “a grant”",
    "F the job aggregate did not succeed: storage_full",
  ]);
});

it("names the entity of a page", () => {
  expect(named("domain", "research")).toEqual({ tier: "DOMAIN", domain: "research", project: null, user: null });
  expect(named("user", "u.p")).toEqual({ tier: "USER", domain: null, project: "p", user: "u" });
  expect(targets({ domain_name: "d" })).toEqual({ domain: "domain:d", project: "domain:d", user: "domain:d" });
  expect(targets({ domain_name: "d", project_id: "p", user_uuid: "u" })).toEqual({ domain: "domain:d", project: "project:p", user: "user:u/p" });
});
