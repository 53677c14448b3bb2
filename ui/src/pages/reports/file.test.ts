import { expect, it } from "vitest";
import { reportFile } from "./file.ts";
import type { Row } from "./index.tsx";

it("has the hours and the part of the capacity of every slot", () => {
  const row = {
    first_day: "2026-01-01",
    last_day: "2026-01-31",
    domain_name: "research",
    project_id: null,
    project_name: null,
    user_uuid: null,
    user_name: null,
    charge_class: "high",
    slot_hours: '{"mem":"64","cpu":"12.5"}',
    capacity_share: '{"cpu":"0.25"}',
    used_share: "0.5",
    entitled_share: null,
  } as unknown as Row;
  expect(reportFile([row])).toBe(
    "first_day,last_day,domain,project,user,charge_class,cpu core-hours,cpu capacity_share,mem GiB-hours,mem capacity_share,used_share,entitled_share\r\n" +
      "2026-01-01,2026-01-31,research,,,high,12.5,0.25,64,,0.5,\r\n",
  );
});
