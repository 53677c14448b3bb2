// When a workload starts, in words. A forecast says how long from its own time on, so that its words do not change while one reads.
import { count } from "../../lib/numbers.ts";
import { duration } from "../../lib/time.ts";

/** A forecast as the server gives it. */
export interface Forecast {
  p10: string | null;
  p50: string | null;
  p90: string | null;
  not_known_yet: string | null;
  as_of: string;
}

/** Three times of a start. */
interface Percentiles {
  p10: string;
  p50: string;
  p90: string;
}

export interface Quality {
  starts: number;
  inside: number;
  median_error_seconds: number | null;
}

const UNKNOWN: Record<string, string> = {
  no_agents: "Not known yet: no node is known.",
  few_ended_jobs: "Not known yet: too few jobs have ended here.",
  does_not_fit: "Not as it is, or as it is reported so far.",
  nothing_ends: "Not within four weeks, as far as is known.",
  too_large: "Not known yet: too much would happen before it.",
  low_coverage: "Not known yet: the last forecasts of this group were wrong.",
};

const CHANGES: Record<string, string> = {
  half_slots: "With half of what it asks for",
  half_time: "If it ran half as long",
  next_in_priority: "If it were the next in the order",
};

const between = (from: string, to: string): string => duration(Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 60_000) * 60));

/** The median, and between which times the start lies in 8 of 10 cases. */
function timesInWords({ p10, p50, p90 }: Percentiles, from: string): string {
  const [soonest, median, latest] = [between(from, p10), between(from, p50), between(from, p90)];
  if (Date.parse(p90) - Date.parse(from) < 60_000) return "now";
  return soonest === latest ? `in ${median}` : `in ${median} (${soonest} to ${latest})`;
}

/** The forecast as a sentence. */
export function startInWords(forecast: Forecast | null): string {
  if (!forecast) return "Not known yet: a forecast is made each minute.";
  const { p10, p50, p90, not_known_yet, as_of } = forecast;
  if (p10 && p50 && p90) return `${timesInWords({ p10, p50, p90 }, as_of)}, as of ${as_of.slice(11, 16)} UTC`;
  return UNKNOWN[not_known_yet ?? ""] ?? "Not known yet.";
}

/** A change of a workload, with the start that it would have. */
export function helpInWords(help: Percentiles & { change: string; queue: string | null; as_of: string }): string {
  const change = help.queue === null ? (CHANGES[help.change] ?? help.change) : `In the queue ${help.queue}`;
  return `${change}: ${timesInWords(help, help.as_of)}`;
}

/** How good the last forecasts were. */
export function qualityInWords({ starts, inside, median_error_seconds }: Quality): string {
  if (median_error_seconds === null) return "no start yet";
  return `${count(inside)} of ${count(starts)} in time, ${duration(median_error_seconds)} off`;
}
