// Every option of a group: what it does, in which unit and range, and its default.
import { isObject, type JsonObject } from "../../lib/json.ts";
import { amountFault, weightFault, wholeFault } from "../../lib/quantity.ts";
import { divisionFault } from "./division.ts";

export interface Option {
  key: string;
  name: string;
  kind: "whole" | "weight" | "choice" | "slots" | "json";
  unit?: string;
  range?: [number, number];
  choices?: [string, string][];
  /** As the server takes it; what an option has that is not set. */
  standard: string;
  effect: string;
}

export interface Section {
  title: string;
  options: Option[];
}

export const SCHEDULERS: [string, string][] = [
  ["fairshare", "fairshare: the user with the least usage for the weight starts first"],
  ["fifo", "fifo: first come, first served"],
  ["lifo", "lifo: last come, first served"],
  ["drf", "drf: the smallest dominant share of what runs now starts first"],
  ["saturation", "saturation: the queue that lacks most of its share starts first"],
  ["score", "score: the queue with the best score of its division starts first"],
];

export const SECTIONS: Section[] = [
  {
    title: "What counts as used",
    options: [
      { key: "half_life_days", name: "Half-life", kind: "whole", unit: "days", range: [1, 3650], standard: "7", effect: "After this time usage counts half. A short one forgives quickly; a long one remembers heavy users." },
      { key: "lookback_days", name: "Look-back", kind: "whole", unit: "days", range: [1, 3650], standard: "28", effect: "Older usage does not count at all." },
      { key: "decay", name: "Decay", kind: "choice", choices: [["flat", "flat: by whole half-lives"], ["continuous", "continuous: a little every day"]], standard: "flat", effect: "Whether usage loses half of its weight at the end of each half-life (flat), or a little every day (continuous)." },
      { key: "decay_unit_days", name: "Bucket length", kind: "whole", unit: "days", range: [1, 365], standard: "1", effect: "Usage of this number of days is kept and decayed together; at most the look-back." },
      { key: "resource_weights", name: "Weights of slots", kind: "slots", standard: "{}", effect: "How much usage of each slot counts. Without any weight every slot counts 1; with some, a slot without one does not count." },
    ],
  },
  {
    title: "Order of starts",
    options: [
      { key: "default_weight", name: "Default weight", kind: "weight", standard: "1.0", effect: "The weight of all domains, projects and users that have none of their own." },
      { key: "order", name: "Order of users (order)", kind: "choice", choices: [["flat", "flat: all users of the group at once"], ["tiered", "tiered: domains, then projects, then users"]], standard: "flat", effect: "With flat, a domain of many users receives more than its weight says; tiered keeps to the weights of domains. An example from another cluster, which was full: domains of the weights 2, 1, 1 and 0.5 received 34.5, 22.5, 21.6 and 21.4 % with flat, and 44.0, 22.2, 22.2 and 11.5 % with tiered." },
      { key: "sequence_mode", name: "Sequences", kind: "choice", choices: [["plain", "plain: by recorded usage"], ["progressive", "progressive: counts what runs, too"]], standard: "plain", effect: "Progressive counts what was started since the last run and what it will still use, so that short jobs share fairly too." },
      { key: "expected_seconds", name: "Expected run time", kind: "whole", unit: "seconds", range: [1, 86400], standard: "as the slice interval", effect: "How long a kernel is taken to run while no kernel has ended yet." },
    ],
  },
  {
    title: "How usage is recorded",
    options: [
      { key: "slice_interval_seconds", name: "Slice interval", kind: "whole", unit: "seconds", range: [1, 86400], standard: "300", effect: "How often usage is recorded and factors are calculated." },
      { key: "gap_policy", name: "Gaps", kind: "choice", choices: [["interpolate", "interpolate: kernels ran through"], ["ignore", "ignore: nothing was used"]], standard: "interpolate", effect: "What fills the time in which this service was down." },
      { key: "max_gap_hours", name: "Longest gap", kind: "whole", unit: "hours", range: [0, 8760], standard: "24", effect: "A longer gap is filled up to this length only." },
      { key: "kernel_timeout_seconds", name: "Kernel time-out", kind: "whole", unit: "seconds", range: [60, 31536000], standard: "off", effect: "A running kernel without a report within this time counts as ended at its last report." },
    ],
  },
  {
    title: "How capacity is divided over queues",
    options: [{ key: "division", name: "Division", kind: "json", standard: "{\"algorithm\": \"quota_over_quota\"}", effect: "The algorithm and its options: quota_over_quota, min_share, proportion or drf." }],
  },
];

export const OPTIONS: Option[] = SECTIONS.flatMap((section) => section.options);

/** The value of an option as a text to edit; an option that is not set is empty. */
export function text(option: Option, configured: Record<string, unknown>): string {
  const value = configured[option.key];
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function slotsFault(weights: JsonObject): string | undefined {
  return Object.values(weights).map((weight) => amountFault(String(weight))).find(Boolean);
}

/** The value of an edited text, or its fault. */
export function parse(option: Option, edited: string): { value: unknown } | { fault: string } {
  const trimmed = edited.trim();
  if (trimmed === "") return { value: null };
  if (option.kind === "whole") {
    const [low, high] = option.range ?? [0, Number.MAX_SAFE_INTEGER];
    const fault = wholeFault(trimmed, low, high);
    return fault ? { fault } : { value: Number(trimmed) };
  }
  if (option.kind === "weight") {
    const fault = weightFault(trimmed);
    return fault ? { fault } : { value: trimmed };
  }
  if (option.kind === "slots" || option.kind === "json") {
    try {
      const value: unknown = JSON.parse(trimmed);
      if (!isObject(value)) return { fault: "An object in JSON." };
      const fault = option.kind === "slots" ? slotsFault(value) : divisionFault(value);
      return fault ? { fault } : { value };
    } catch {
      return { fault: "This is not JSON yet." };
    }
  }
  return { value: trimmed };
}
