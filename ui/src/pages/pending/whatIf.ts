// A workload that is imagined different, and what would become of it.
import { many } from "../../lib/numbers.ts";
import { whyInWords } from "./reasons.ts";

/** The fields as texts; an empty one changes nothing. */
export interface ChangeFields {
  alone: string;
  slots_part: string;
  hours: string;
  priority: string;
}

interface Outcome {
  starts: boolean;
  agents: string[];
  evicted_kernels: number;
  waiting: { reason: string; details: unknown; blocked_by: string[]; reserved_at: string | null } | null;
}

/** The change as the API takes it, in JSON; or what is wrong in the fields. */
export function changeOf({ alone, slots_part, hours, priority }: ChangeFields): { value: string } | { fault: string } {
  const seconds = Math.round(Number(hours) * 3600);
  if (hours.trim() !== "" && !(seconds >= 1 && seconds <= 31_536_000)) return { fault: "Hours are a number above 0, at most 8760." };
  if (priority.trim() !== "" && !/^-?\d{1,9}$/.test(priority.trim())) return { fault: "A priority is a whole number." };
  const change = {
    ...(alone && { alone: true }),
    ...(slots_part && { slots_part }),
    ...(hours.trim() !== "" && { expected_seconds: seconds }),
    ...(priority.trim() !== "" && { priority: Number(priority) }),
  };
  return { value: JSON.stringify(change) };
}

/** What would become of it, from the answer of the API in JSON. */
export function outcomeInWords(answer: string): string {
  const { starts, agents, evicted_kernels, waiting } = JSON.parse(answer) as Outcome;
  const why = waiting && whyInWords({ ...waiting, details: JSON.stringify(waiting.details) }, false);
  if (!starts) return `It would wait. ${why ?? ""}`.trim();
  const places = agents.length > 0 ? ` on ${[...new Set(agents)].join(", ")}` : "";
  const evicted = evicted_kernels > 0 ? `; ${many(evicted_kernels, "kernel")} would be evicted for it` : "";
  return `It would start now${places}${evicted}.${why ? ` Further members would wait: ${why}` : ""}`;
}
