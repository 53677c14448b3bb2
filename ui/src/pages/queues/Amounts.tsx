// What a queue has, asks for and deserves of one slot, as a bar and as numbers.
import { num, percent, slots } from "../../lib/numbers.ts";
import { amount } from "../../lib/units.ts";
import { StackBar } from "../../ui/Bars.tsx";
import { overQuota } from "./division.ts";

interface AmountsProps {
  name: string;
  slot: string;
  /** What a full bar stands for. */
  whole: number;
  of: { quota: string; fair_share: string; allocated: string; request: string; saturation_ratio: string };
}

export function AmountsHead() {
  return (
    <>
      <th scope="col" class="wide-only" style={{ minWidth: "130px", whiteSpace: "normal" }}>Allocated, asked for, fair share</th>
      <th scope="col" class="number" title="What it is promised">Quota</th>
      <th scope="col" class="number" title="Fair share less quota: its part of what is left when every queue has its quota">Over quota</th>
      <th scope="col" class="number">Fair share</th>
      <th scope="col" class="number">Allocated</th>
      <th scope="col" class="number" title="Allocated as a percentage of the fair share">Saturation</th>
      <th scope="col" class="number">Asked for</th>
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
        <StackBar
          label={`${name}: ${shown(of.allocated)} allocated, ${shown(of.request)} asked for, ${shown(of.fair_share)} deserved`}
          parts={[{ part: part(of.request), kind: "soft" }, { part: part(of.allocated), kind: "" }]}
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
