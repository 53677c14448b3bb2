// The parts of a division that have a field: the algorithm and the options that it reads.
import { isObject, type JsonObject } from "../../lib/json.ts";
import { amountFault, wholeFault } from "../../lib/quantity.ts";

export interface DivisionField {
  path: string[];
  name: string;
  standard: string;
  effect: string;
  /** Without choices it is a number. */
  choices?: [string, string][];
  /** A number that the server takes as such, and not as a decimal. */
  isWhole?: boolean;
  /** The algorithms that read it; all, where none is named. */
  of?: string[];
}

export const ALGORITHM = "quota_over_quota";
const MAX_SEARCH_BUDGET_MS = 60_000;

export const DIVISION_FIELDS: DivisionField[] = [
  {
    path: ["algorithm"],
    name: "Algorithm",
    standard: ALGORITHM,
    choices: [
      ["quota_over_quota", "quota_over_quota: quotas first, the rest by over-quota weight"],
      ["min_share", "min_share: by weight, with a smallest share for each"],
      ["proportion", "proportion: by weight, up to what is asked for"],
      ["drf", "drf: by dominant share and weight"],
    ],
    effect: "How the capacity is divided over queues.",
  },
  {
    path: ["options", "rounding"],
    name: "Rounding",
    standard: "exact",
    choices: [["exact", "exact: to twelve decimals"], ["whole", "whole: whole devices"], ["kai", "kai: as the KAI scheduler rounds"]],
    effect: "Whether a fair share may be a part of a device.",
    of: ["quota_over_quota"],
  },
  { path: ["options", "over_quota_by"], name: "Over quota by", standard: "weight", choices: [["weight", "weight: by over-quota weights"], ["quota", "quota: in proportion to quotas"]], effect: "How queues at the top share what is left when every queue has its quota.", of: ["quota_over_quota"] },
  { path: ["options", "history_gain"], name: "Usage penalty", standard: "0", effect: "How strongly past usage lowers what is left for a queue. 0: not at all.", of: ["quota_over_quota"] },
  { path: ["options", "history_base"], name: "Base of history", standard: "cluster", choices: [["cluster", "cluster: as a part of the group"], ["siblings", "siblings: as a part of all siblings"]], effect: "What past usage is compared with. It matters only with a gain above 0.", of: ["quota_over_quota"] },
  { path: ["options", "rule"], name: "Rule of smallest shares", standard: "floor", choices: [["floor", "floor: the share is at least that"], ["on_top", "on_top: the rest is divided on top of it"]], effect: "How smallest shares and weights come together.", of: ["min_share"] },
  { path: ["options", "proportion_variant"], name: "Variant", standard: "kube_batch", choices: [["kube_batch", "kube_batch"], ["volcano", "volcano: keeps guarantees"]], effect: "Whose proportion it is.", of: ["proportion"] },
  { path: ["options", "node_order"], name: "Order of nodes", standard: "pack", choices: [["pack", "pack: the fullest node first"], ["spread", "spread: the emptiest node first"]], effect: "Where plans of reclaims place a workload." },
  { path: ["options", "reclaimer_utilization_multiplier"], name: "Multiplier of the reclaimer", standard: "1", effect: "How much emptier than its victim a queue has to be to reclaim." },
  { path: ["options", "search_budget_ms"], name: "Search budget, milliseconds", standard: "1000", effect: "After this budget (1,000 steps for each millisecond) the search for victims ends without an answer. At most 60000.", isWhole: true },
];

/** The fault of what is typed into a field of numbers. */
export function fieldFault({ choices, isWhole }: DivisionField, text: string): string | undefined {
  if (choices) return undefined;
  return isWhole ? wholeFault(text, 0, MAX_SEARCH_BUDGET_MS) : amountFault(text);
}

/** The first fault of the numbers of a division. */
export function divisionFault(division: JsonObject): string | undefined {
  const { options } = division;
  if (!isObject(options)) return undefined;
  return DIVISION_FIELDS.map((field) => {
    const value = options[field.path.at(-1) ?? ""];
    const fault = field.path.length === 1 || value === undefined || value === null ? undefined : fieldFault(field, String(value));
    return fault && `${field.name}: ${fault}`;
  }).find(Boolean);
}

/** The fields that a division with this algorithm reads. */
export const fieldsFor = (algorithm: string): DivisionField[] => DIVISION_FIELDS.filter(({ of }) => !of || of.includes(algorithm || ALGORITHM));
