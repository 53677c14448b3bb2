// Entries of the audit log: the kinds of changes in words, and the number of an entry.
import { facts } from "./metadata.ts";

/** The kinds of changes, each with its words. */
export const actions = (): [string, string][] => facts().audit_actions.map(({ name, summary }) => [name, summary]);

/** A kind of change in words; one that the server does not list as it is called. */
export const actionName = (action: string): string => facts().audit_actions.find(({ name }) => name === action)?.summary ?? action;

/** The number that REST and the command line call an entry by. */
export function entryNumber(id: string): string {
  const [, parts] = JSON.parse(atob(id.replaceAll("-", "+").replaceAll("_", "/"))) as [string, string[]];
  return parts[0] ?? "";
}

/** True for what changes a configuration: reports of kernels, keys and clocks do not. */
export const isOfConfiguration = (action: string): boolean => !/^(kernels|key|clock)\./.test(action);

/** True for reports of nodes, which schedulers send by themselves. */
export const isOfNodes = (action: string): boolean => /^agents?\./.test(action);
