// What a queue has, asks for and deserves of one slot, as a bar and as numbers.
import { num, slots } from "../../lib/numbers.ts";
import { amount } from "../../lib/units.ts";
import { StackBar } from "../../ui/Bars.tsx";

interface AmountsProps {
  name: string;
  slot: string;
  /** What a full bar stands for. */
  whole: number;
  of: { quota: string; fair_share: string; allocated: string; request: string };
}

export function AmountsHead() {
  return (
    <>
      <th scope="col" class="wide-only" style={{ minWidth: "180px" }}>Allocated, asked for, fair share</th>
      <th scope="col" class="number">Quota</th>
      <th scope="col" class="number">Fair share</th>
      <th scope="col" class="number">Allocated</th>
      <th scope="col" class="number">Asked for</th>
    </>
  );
}

export function Amounts({ name, slot, whole, of }: AmountsProps) {
  const exact = (json: string): string => slots(json)[slot] ?? "0";
  const value = (json: string): number => num(exact(json));
  const part = (json: string): number => (whole > 0 ? value(json) / whole : 0);
  const shown = (json: string): string => amount(slot, value(json)).split(" ")[0] ?? "";
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
      <td class="number" title={exact(of.fair_share)}><strong>{shown(of.fair_share)}</strong></td>
      <td class="number" title={exact(of.allocated)}>{shown(of.allocated)}</td>
      <td class="number" title={exact(of.request)}>{shown(of.request)}</td>
    </>
  );
}
