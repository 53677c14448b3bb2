// The rows of a report as CSV: of each slot its hours and the part of its capacity, with all digits.
import { csv } from "../../lib/csv.ts";
import { slots } from "../../lib/numbers.ts";
import { hoursUnit, ordered } from "../../lib/units.ts";
import type { Row } from "./index.tsx";

export function reportFile(rows: Row[]): string {
  const known = ordered(rows.flatMap((row) => Object.keys(slots(row.slot_hours))));
  const head = ["first_day", "last_day", "domain", "project", "user", "charge_class", ...known.flatMap((slot) => [`${slot} ${hoursUnit(slot)}`, `${slot} capacity_share`]), "used_share", "entitled_share"];
  const lines = rows.map((row) => {
    const [hours, parts] = [slots(row.slot_hours), slots(row.capacity_share)];
    return [
      row.first_day,
      row.last_day,
      row.domain_name,
      row.project_name ?? row.project_id,
      row.user_name ?? row.user_uuid,
      row.charge_class,
      ...known.flatMap((slot) => [hours[slot] ?? "0", parts[slot]]),
      row.used_share,
      row.entitled_share,
    ];
  });
  return csv(head, lines);
}
