import { expect, it } from "vitest";
import { differences } from "./differences.ts";

it("finds the differences, key by key", () => {
  expect(differences('{"domain:a":"1","b":2}', '{"domain:a":"2","b":2}')).toEqual([["domain a", "1", "2"]]);
  expect(differences(null, '{"role":"admin"}')).toEqual([["role", "–", "admin"]]);
  expect(differences('{"q":{"quota":{"cpu":"1","mem":"2"}}}', '{"q":{"quota":{"cpu":"3","mem":"2"}}}')).toEqual([["q › quota › CPU", "1 core", "3 cores"]]);
  expect(differences('{"q":null}', '{"q":{"a":1}}')).toEqual([["q", "–", "–"], ["q › a", "–", "1"]].slice(1));
  expect(differences(null, null)).toEqual([]);
  expect(differences(null, '{"q":{"created_at":"2026-01-01T00:00:00Z","limit":{},"quota":{"cpu":"1"}}}')).toEqual([["q › quota › CPU", "–", "1 core"]]);
  expect(differences('{"q":{"limit":{"cpu":"1"}}}', '{"q":{"limit":{}}}')).toEqual([["q › limit › CPU", "1 core", "–"]]);
  expect(differences('{"weights":{"user:1/2":"1"}}', '{"weights":{"user:1/2":"2"}}', [{ label: "user:1/2", name: "alice in vision" }])).toEqual([["weights › alice in vision", "1", "2"]]);
  expect(differences('{"queues":{"queue:a":{"priority":1}}}', '{"queues":{"queue:a":{"priority":2}}}')).toEqual([["queues › queue a › priority", "1", "2"]]);
  expect(differences(null, '"x"')).toEqual([["", "–", "x"]]);
});

it("calls slots as everywhere, with amounts in their units", () => {
  expect(differences(null, '{"q":{"quota":{"mem":"1073741824"}}}')).toEqual([["q › quota › Memory", "–", "1 GiB"]]);
  expect(differences('{"scheduler_opts":{"resource_weights":{"cuda.device":"1"}}}', '{"scheduler_opts":{"resource_weights":{"cuda.device":"2"}}}')).toEqual([["scheduler_opts › resource_weights › CUDA GPUs", "1", "2"]]);
  expect(differences('{"cpu":{"weight":"1"}}', '{"cpu":{"weight":"2"}}')).toEqual([["cpu › weight", "1", "2"]]);
});
