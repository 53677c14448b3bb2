import { expect, it } from "vitest";
import { agentLine, kernelLine, nameFault } from "./firstSteps.ts";

it("gives lines for a shell, with the key from the environment", () => {
  expect(agentLine("gpu pool", "http://h:1")).toBe(
    `curl -s -X PUT -H "Authorization: Bearer $FAIRSHARED_KEY" -H 'Content-Type: application/json' -d '{"available_slots":{"cpu":"64","mem":"274877906944","cuda.device":"8"}}' http://h:1/resource-groups/gpu%20pool/agents/node-01`,
  );
  expect(kernelLine("gpu", "http://h:1", "2026-01-13T10:00:00Z")).toContain(`"started_at":"2026-01-13T10:00:00Z"}]' http://h:1/resource-groups/gpu/kernels`);
});

it("refuses names that no group can have", () => {
  expect(["gpu", "GPU Pool", "重要", "a".repeat(64)].map(nameFault)).toEqual([undefined, undefined, undefined, undefined]);
  for (const name of ["", " gpu", "gpu ", "a/b", ".", "..", "a\nb", "a".repeat(65)]) expect(nameFault(name), name).toBeTruthy();
});
