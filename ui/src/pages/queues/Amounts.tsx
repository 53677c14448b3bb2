// The allocation, request and fair share of a queue in one slot, as a bar and as numbers.
import { num, percent, slots } from "../../lib/numbers.ts";
import { amount } from "../../lib/units.ts";
import { UseBar } from "../../ui/Bars.tsx";
import { overQuota } from "./division.ts";

interface AmountsProps {
  name: string;
  slot: string;
  /** The amount of a full bar. */
  whole: number;
  of: { quota: string; fair_share: string; allocated: string; request: string; saturation_ratio: string };
}

interface OfQueue {
  fair_share: string;
  allocated: string;
  request: string;
}

/** The amount of a full bar: `capacity`, or the most that a queue has, asks for or deserves where that is more. */
export function wholeOf(rows: OfQueue[], slot: string, capacity: number): number {
  return Math.max(capacity, ...rows.flatMap((row) => [row.fair_share, row.allocated, row.request].map((json) => num(slots(json)[slot]))));
}

/** The meaning of the bars, and their scale. */
export function AmountsLegend({ slot, whole, capacity }: { slot: string; whole: number; capacity: number }) {
  return (
    <div class="legend">
      <span><i /> allocated</span>
      <span><i class="soft" /> waited for</span>
      <span><i class="mark" /> fair share</span>
      <span>A full bar is {amount(slot, whole)}, {whole > capacity ? "the most that a queue asks for" : "the capacity"}.</span>
    </div>
  );
}

export function AmountsHead() {
  return (
    <>
      <th scope="col" class="wide-only" style={{ minWidth: "130px", whiteSpace: "normal" }}>Allocated, waited for, fair share</th>
      <th scope="col" class="number" title="The guaranteed amount">Quota</th>
      <th scope="col" class="number" title="Fair share less quota: its part of what is left when every queue has its quota">Over quota</th>
      <th scope="col" class="number">Fair share</th>
      <th scope="col" class="number">Allocated</th>
      <th scope="col" class="number" title="Allocated as a percentage of the fair share">Saturation</th>
      <th scope="col" class="number" title="By what runs and what waits, together">Asked for</th>
    </>
  );
}

export function Amounts({ name, slot, whole, of }: AmountsProps) {
  const exact = (json: string): string => slots(json)[slot] ?? "0";
  const value = (json: string): number => num(exact(json));
  const part = (json: string): number => (whole > 0 ? value(json) / whole : 0);
  const plain = (slotValue: number): string => amount(slot, slotValue).split(" ")[0] ?? "";
  const shown = (json: string): string => (exact(json) === "unlimited" ? "unlimited" : plain(value(json)));
  const over = overQuota(exact(of.fair_share), exact(of.quota));
  const saturation = exact(of.saturation_ratio);
  return (
    <>
      <td class="wide-only">
        <UseBar
          label={`${name}: ${shown(of.allocated)} allocated, ${shown(of.request)} asked for, ${shown(of.fair_share)} fair share`}
          held={part(of.allocated)}
          wanted={part(of.request)}
          mark={part(of.fair_share)}
        />
      </td>
      <td class="number" title={exact(of.quota)}>{shown(of.quota)}</td>
      <td class="number" title={String(over)}>{over > 0 ? plain(over) : "–"}</td>
      <td class="number" title={exact(of.fair_share)}><strong>{shown(of.fair_share)}</strong></td>
      <td class="number" title={exact(of.allocated)}>{shown(of.allocated)}</td>
      <td class="number" title={saturation === "inf" ? "It has some of this slot, and its fair share is nothing" : saturation}>{saturation === "inf" ? "∞" : percent(num(saturation))}</td>
      <td class="number" title={exact(of.request)}>{shown(of.request)}</td>
    </>
  );
}
