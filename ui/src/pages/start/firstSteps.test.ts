import { expect, it } from "vitest";
import { agentLine, kernelLine } from "./firstSteps.ts";

it("gives lines for a shell, with the key from the environment", () => {
  expect(agentLine("gpu pool", "http://h:1")).toBe(
    `curl -s -X PUT -H "Authorization: Bearer $FAIRSHARED_KEY" -H 'Content-Type: application/json' -d '{"available_slots":{"cpu":"64","mem":"274877906944","cuda.device":"8"}}' http://h:1/resource-groups/gpu%20pool/agents/node-01`,
  );
  expect(kernelLine("gpu", "http://h:1", "2026-01-13T10:00:00Z")).toContain(`"started_at":"2026-01-13T10:00:00Z"}]' http://h:1/resource-groups/gpu/kernels`);
});
