import { describe, expect, it } from "vitest";
import { items, NO_DRAFT, readPaste, rebased, withEdit, withEdits } from "./edits.ts";

const row = { tier: "domain" as const, key: "domain:a", id: "a", project: null, name: "a", within: "", configured: "2", weight: "2", revision: "5.a" };

describe("weights that are changed", () => {
  it("are no edits when they are as they were", () => {
    const edits = withEdit(new Map(), row, "3");
    expect(items(edits.values())).toEqual([{ target_type: "domain", target_id: "a", weight: "3" }]);
    expect(withEdit(edits, row, "2.0").size).toBe(0);
    expect(items(withEdit(edits, row, " ").values())[0]?.weight).toBeNull();
  });
});

describe("a draft", () => {
  it("rests on what was shown when it was begun, whatever a refresh shows", () => {
    const first = withEdits(NO_DRAFT, withEdit(NO_DRAFT.edits, row, "3"), row.revision);
    const later = { ...row, configured: "9", weight: "9", revision: "7.a" };
    const second = withEdits(first, withEdit(first.edits, later, "30"), later.revision);
    expect([second.begun, second.edits.get(row.key)?.row.configured, second.edits.get(row.key)?.weight]).toEqual(["5.a", "2", "30"]);
    expect(withEdits(second, withEdit(second.edits, later, "2"), "8.a")).toEqual(NO_DRAFT);
  });

  it("on another state keeps its weights, but for those that are there already", () => {
    const other = { ...row, key: "domain:b", id: "b", name: "b" };
    const draft = withEdits(NO_DRAFT, withEdit(withEdit(NO_DRAFT.edits, row, "3"), other, "4"), "5.a");
    const kept = rebased(draft, "7.a", new Map([[row.key, { ...row, configured: "6" }], [other.key, { ...other, configured: "4" }]]));
    expect([kept.begun, ...[...kept.edits.values()].map((edit) => [edit.row.name, edit.row.configured, edit.weight])]).toEqual(["7.a", ["a", "6", "3"]]);
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

  it("that are wrong are named by number", () => {
    const { rows, faults } = readPaste("domain research\nuser a 2\nproject p -1");
    expect(rows).toEqual([]);
    expect(faults.map((fault) => fault.slice(0, 7))).toEqual(["Line 1:", "Line 2:", "Line 3:"]);
  });
});
