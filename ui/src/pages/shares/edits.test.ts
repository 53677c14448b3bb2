import { describe, expect, it } from "vitest";
import { items, readPaste, withEdit } from "./edits.ts";

const row = { tier: "domain" as const, key: "domain:a", id: "a", project: null, name: "a", within: "", configured: "2", weight: "2" };

describe("weights that are changed", () => {
  it("are no edits when they are as they were", () => {
    const edits = withEdit(new Map(), row, "3");
    expect(items(edits.values())).toEqual([{ target_type: "domain", target_id: "a", weight: "3" }]);
    expect(withEdit(edits, row, "2.0").size).toBe(0);
    expect(items(withEdit(edits, row, " ").values())[0]?.weight).toBeNull();
  });
});

describe("pasted lines", () => {
  it("name what they set", () => {
    const { rows, faults } = readPaste("domain research 2\n# no\nuser, alice, vision, default\n\nproject\tvision\t0.5\n");
    expect(faults).toEqual([]);
    expect(rows).toEqual([
      { tier: "domain", name: "research", project: null, weight: "2" },
      { tier: "user", name: "alice", project: "vision", weight: "" },
      { tier: "project", name: "vision", project: null, weight: "0.5" },
    ]);
  });

  it("may name what has spaces in its name, between commas or tabs", () => {
    const { rows } = readPaste("domain, Life Science, 2\nuser\tMary Ann\tGene Therapy\t0.5");
    expect(rows).toEqual([
      { tier: "domain", name: "Life Science", project: null, weight: "2" },
      { tier: "user", name: "Mary Ann", project: "Gene Therapy", weight: "0.5" },
    ]);
  });

  it("that are wrong are told by number", () => {
    const { rows, faults } = readPaste("domain research\nuser a 2\nproject p -1");
    expect(rows).toEqual([]);
    expect(faults.map((fault) => fault.slice(0, 7))).toEqual(["Line 1:", "Line 2:", "Line 3:"]);
  });
});
