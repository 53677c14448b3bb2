// A simulated change in one sentence or two.
import type { Simulated } from "./change.ts";

/** Says what happens to shares, and to the order of waiting kernels. */
export function summary(data: Simulated): string {
  const { count, moved } = data.pending;
  const waiting = moved > 0 ? `${moved} of ${count} waiting ${count === 1 ? "kernel" : "kernels"} would change place.` : "";
  const shares = changeOfShares(data);
  if (!shares) return waiting ? `No share would change. ${waiting}` : "Nothing would change.";
  return waiting ? `${shares} ${waiting}` : shares;
}

/** The change of ranks and factors; empty where there is none. */
function changeOfShares(data: Simulated): string {
  const users = (count: number): string => `${count} ${count === 1 ? "user" : "users"}`;
  if (data.users.changed === 0 && data.domains.changed === 0) return "";
  if (data.users.risen === 0 && data.users.fallen === 0) return "Factors would change, and no user's rank.";
  return `${users(data.users.risen)} would rise and ${users(data.users.fallen)} would fall.`;
}
