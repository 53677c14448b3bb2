import { expect, it } from "vitest";
import { entryNumber, isOfConfiguration, isOfNodes } from "./auditLog.ts";

it("calls an entry as REST does", () => {
  expect(entryNumber("WyJBdWRpdEVudHJ5IixbIjE2Il1d")).toBe("16");
});

it("separates changes of a configuration from reports", () => {
  expect(["weights.put", "queue.delete", "agents.put", "kernels.ingest", "key.revoke"].filter(isOfConfiguration)).toEqual(["weights.put", "queue.delete", "agents.put"]);
  expect(["agents.put", "agent.delete", "weights.put"].filter(isOfNodes)).toEqual(["agents.put", "agent.delete"]);
});
