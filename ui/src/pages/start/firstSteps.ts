// The first requests for a new group, as lines for a shell. The key is read from the environment, as in every line that pages give.
import { copies, type Rest } from "../../lib/copy.ts";

const NOTHING = { kind: "Document", definitions: [] };

const line = (rest: Rest, origin: string): string => copies({ document: NOTHING, variables: {}, rest }, origin).curl;

/** Reports a node and what it offers; that takes an admin key. */
export function agentLine(group: string, origin: string): string {
  const body = { available_slots: { cpu: "64", mem: "274877906944", "cuda.device": "8" } };
  return line({ method: "PUT", path: ["resource-groups", group, "agents", "node-01"], body }, origin);
}

/** Reports a kernel that runs since `startedAt`; the key of a scheduler is enough. */
export function kernelLine(group: string, origin: string, startedAt: string): string {
  const kernel = {
    kernel_id: "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b",
    session_id: "8e2f4a6b-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
    user: "alice",
    project: "climate",
    domain_name: "earth",
    occupied_slots: { cpu: "4" },
    status: "RUNNING",
    started_at: startedAt,
  };
  return line({ method: "POST", path: ["resource-groups", group, "kernels"], body: [kernel] }, origin);
}

/** The fault of the name of a group: it is a part of addresses. */
export function nameFault(name: string): string | undefined {
  if (name === "") return "A group needs a name.";
  // oxlint-disable-next-line no-control-regex
  const isLegal = name.length <= 64 && name === name.trim() && name !== "." && name !== ".." && !/[\u0000-\u001f\u007f/]/.test(name);
  return isLegal ? undefined : "A name has 1 to 64 characters, no slash, and no space at either end.";
}
