import { expect, it } from "vitest";
import { differences, entryNumber } from "./index.tsx";

it("tells what is different, key by key", () => {
  expect(differences('{"domain:a":"1","b":2}', '{"domain:a":"2","b":2}')).toEqual([["domain:a", "1", "2"]]);
  expect(differences(null, '{"role":"admin"}')).toEqual([["role", "–", "admin"]]);
  expect(differences('{"q":{"quota":{"cpu":"1","mem":"2"}}}', '{"q":{"quota":{"cpu":"3","mem":"2"}}}')).toEqual([["q › quota › cpu", "1", "3"]]);
  expect(differences('{"q":null}', '{"q":{"a":1}}')).toEqual([["q", "–", "–"], ["q › a", "–", "1"]].slice(1));
  expect(differences(null, null)).toEqual([]);
  expect(differences(null, '{"q":{"created_at":"2026-01-01T00:00:00Z","limit":{},"quota":{"cpu":"1"}}}')).toEqual([["q › quota › cpu", "–", "1"]]);
  expect(differences('{"q":{"limit":{"cpu":"1"}}}', '{"q":{"limit":{}}}')).toEqual([["q › limit › cpu", "1", "–"]]);
  expect(differences('{"weights":{"user:1/2":"1"}}', '{"weights":{"user:1/2":"2"}}', [{ label: "user:1/2", name: "alice in vision" }])).toEqual([["weights › alice in vision", "1", "2"]]);
  expect(differences(null, '"x"')).toEqual([["", "–", "x"]]);
});

it("calls an entry as REST does", () => {
  expect(entryNumber("WyJBdWRpdEVudHJ5IixbIjE2Il1d")).toBe("16");
});
