// A simulated change in one sentence or two.
import type { Simulated } from "./change.ts";

/** Says what happens to shares, to the order of waiting workloads, and to what would start now. */
export function summary(data: Simulated): string {
  const { count, moved } = data.pending;
  const places = moved > 0 ? `${moved} of ${count} waiting ${count === 1 ? "workload" : "workloads"} would change place.` : "";
  const waiting = [places, changeOfStarts(data)].filter(Boolean).join(" ");
  const shares = changeOfShares(data);
  if (!shares) return waiting ? `No share would change. ${waiting}` : "Nothing would change.";
  return waiting ? `${shares} ${waiting}` : shares;
}

/** The change of what a scheduling cycle would start now; empty where there is none. */
function changeOfStarts({ pending: { starts_before, starts_after, start_changes } }: Simulated): string {
  if (start_changes.length === 0 || starts_before === null || starts_after === null) return "";
  if (starts_before === starts_after) return "Other workloads would start now.";
  return `${starts_after} ${starts_after === 1 ? "workload" : "workloads"} would start now, not ${starts_before}.`;
}

/** The change of ranks and factors; empty where there is none. */
function changeOfShares(data: Simulated): string {
  const users = (count: number): string => `${count} ${count === 1 ? "user" : "users"}`;
  if (data.users.changed === 0 && data.domains.changed === 0) return "";
  if (data.users.risen === 0 && data.users.fallen === 0) return "Factors would change, and no user's rank.";
  return `${users(data.users.risen)} would rise and ${users(data.users.fallen)} would fall.`;
}
