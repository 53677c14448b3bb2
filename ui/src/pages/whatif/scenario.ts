// A scenario as part of an address: whoever has the link sees the same, and may apply exactly that.
import type { Change, WeightChange } from "../../lib/change.ts";
import { scale } from "../../lib/units.ts";

export interface Scenario {
  weights: { tier: "domain" | "project" | "user"; name: string; project: string; weight: string }[];
  /** Options as texts, as a person types them. */
  options: Record<string, string>;
  /** In the unit that people read. */
  capacity: Record<string, string>;
  projects: { project: string; domain: string }[];
}

export const EMPTY: Scenario = { weights: [], options: {}, capacity: {}, projects: [] };

export function encode(scenario: Scenario): string {
  const bytes = new TextEncoder().encode(JSON.stringify(scenario));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** What an address says; what cannot be read is an empty scenario. */
export function decode(text: string | null): Scenario {
  if (!text) return EMPTY;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    const read = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Scenario>;
    return { ...EMPTY, ...read };
  } catch {
    return EMPTY;
  }
}

/** What the server takes; rows that are not filled in yet are left out. `null`: there is nothing to try. */
export function changeOf(scenario: Scenario, parse: (key: string, text: string) => unknown): Change | null {
  const weights = scenario.weights.filter((row) => row.name && (row.tier !== "user" || row.project)).map(weightOf);
  const options = Object.entries(scenario.options).filter(([key]) => key !== "scheduler");
  const capacity = Object.entries(scenario.capacity).filter(([, text]) => Number(text) >= 0 && text.trim() !== "");
  const projects = scenario.projects.filter((move) => move.project && move.domain).map((move) => ({ project: move.project, domain_name: move.domain }));
  const change: Change = {
    ...(weights.length > 0 ? { weights } : {}),
    ...(scenario.options["scheduler"] ? { scheduler: scenario.options["scheduler"] } : {}),
    ...(options.length > 0 ? { scheduler_opts: Object.fromEntries(options.map(([key, text]) => [key, parse(key, text)])) } : {}),
    ...(capacity.length > 0 ? { capacity: Object.fromEntries(capacity.map(([slot, text]) => [slot, String(Number(text) * scale(slot))])) } : {}),
    ...(projects.length > 0 ? { projects } : {}),
  };
  return Object.keys(change).length > 0 ? change : null;
}

function weightOf(row: Scenario["weights"][number]): WeightChange {
  const weight = row.weight.trim() || null;
  if (row.tier === "domain") return { target_type: "domain", domain_name: row.name, weight };
  if (row.tier === "project") return { target_type: "project", project: row.name, weight };
  return { target_type: "user", user: row.name, project: row.project, weight };
}
