import { expect, it } from "vitest";
import { authors, basisOf, changesSince, newestRevision, noteOwnSave, type LogEntry } from "./meanwhile.ts";

const entry = (number: number, actor: string, action: string): LogEntry => ({ id: btoa(JSON.stringify(["AuditEntry", [String(number)]])), at: "2026-01-01T00:00:00Z", actor, action, target: "g", before: null, after: null, reason: null, names: [] });
const LOG = [entry(9, "bob", "weights.put"), entry(8, "loader", "kernels.ingest"), entry(7, "alice", "queues.put"), entry(5, "carol", "weights.put"), entry(3, "carol", "weights.put")];

it("finds the changes after the entry that was the last when a draft was begun", () => {
  const { entries, isExact } = changesSince(LOG, "1.a", "3.a", 6);
  expect([entries.map(({ actor }) => actor), isExact, authors(entries)]).toEqual([["bob", "alice"], true, "bob and alice"]);
  expect(changesSince(LOG, "1.a", "3.a", 9).entries).toEqual([]);
});

it("shows the latest changes where it is not known which of them came after", () => {
  const { entries, isExact } = changesSince(LOG, "1.a", "3.a", null);
  expect([entries.map(({ actor }) => actor), isExact]).toEqual([["bob", "alice"], false]);
  expect(changesSince(LOG, "1.a", "99.a", null).entries).toHaveLength(4);
});

it("names each author once", () => {
  expect([authors([]), authors(LOG.slice(3)), authors(LOG)]).toEqual(["", "carol", "bob, loader, alice and carol"]);
});

it("compares revisions by their numbers, and begins a draft after an own save on what that left", () => {
  expect([newestRevision("9.a", "10.a"), newestRevision(undefined, null), newestRevision("2.a", undefined)]).toEqual(["10.a", undefined, "2.a"]);
  expect(basisOf("g", "4.a")).toBe("4.a");
  noteOwnSave("g", "5.a");
  expect([basisOf("g", "4.a"), basisOf("g", "6.a"), basisOf("h", "4.a"), basisOf("g", "1.b"), basisOf("g", undefined)]).toEqual(["5.a", "6.a", "4.a", "1.b", undefined]);
});
