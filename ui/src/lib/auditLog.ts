// Entries of the audit log: the kinds of changes in words, and the number of an entry.

/** The name that the server has for a kind of change, and the words for it. */
export const ACTIONS: Record<string, string> = {
  "weights.put": "Weights",
  "scheduler_options.patch": "Options",
  "configuration.apply": "Applied changes",
  "audit_log.undo": "Undo",
  "queues.put": "Queues",
  "queue.put": "Queue",
  "queue.delete": "Queue removed",
  "resource_group.put": "Resource group",
  "resource_group.create": "Resource group made",
  "resource_group.delete": "Resource group removed",
  "capacities.give": "Capacities of past days",
  "agents.put": "Agents",
  "agent.put": "Agent",
  "agent.delete": "Agent removed",
  "domain.put": "Domain",
  "domain.restored": "Domain back from the archive",
  "project.put": "Project",
  "project.moved": "Project moved",
  "project.restored": "Project back from the archive",
  "user.put": "User",
  "user.restored": "User back from the archive",
  "key.create": "Key made",
  "key.revoke": "Key revoked",
  "kernels.ingest": "Reports of kernels",
  "kernels.end_inferred": "Ends of kernels inferred",
  "usage_history.put": "Usage of past days imported",
  "usage_history.delete": "Usage of past days removed",
  "clock.trust": "Clock trusted",
};

/** The number that REST and the command line call an entry by. */
export function entryNumber(id: string): string {
  const [, parts] = JSON.parse(atob(id.replaceAll("-", "+").replaceAll("_", "/"))) as [string, string[]];
  return parts[0] ?? "";
}

/** True for what changes a configuration: reports of kernels, keys and clocks do not. */
export const isOfConfiguration = (action: string): boolean => !/^(kernels|key|clock)\./.test(action);

/** True for reports of nodes, which schedulers send by themselves. */
export const isOfNodes = (action: string): boolean => /^agents?\./.test(action);
