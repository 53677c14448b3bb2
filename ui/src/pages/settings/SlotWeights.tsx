// How much each slot counts, as a small table with a field for every slot.
import { useId } from "preact/hooks";
import { amountFault } from "../../lib/quantity.ts";
import { ordered, slotName } from "../../lib/units.ts";
import { Said } from "../../ui/Said.tsx";
import { keysOf, partOf, withPart } from "./maps.ts";
import type { OptionProps } from "./OptionField.tsx";

export function SlotWeights({ option, value, readOnly, refused, set, slots }: OptionProps) {
  const known = ordered([...slots, ...keysOf(value)]);
  const isSet = keysOf(value).length > 0;
  const id = useId();
  const faultOf = (slot: string) => amountFault(partOf(value, [slot]));
  return (
    <div class="field">
      <span class="label">{option.title}</span>
      <table class="data small-table">
        <caption class="visually-hidden">{option.title}</caption>
        <thead>
          <tr>
            <th scope="col">Slot</th>
            <th scope="col" class="number">Weight</th>
          </tr>
        </thead>
        <tbody>
          {known.map((slot) => (
            <tr key={slot}>
              <th scope="row" title={slot}>{slotName(slot)}</th>
              <td class="number">
                <input
                  class="input narrow"
                  inputMode="decimal"
                  aria-label={`Weight of ${slotName(slot)}`}
                  aria-invalid={faultOf(slot) ? "true" : undefined}
                  aria-describedby={faultOf(slot) ? `${id}-${slot}` : undefined}
                  disabled={readOnly}
                  placeholder={isSet ? "none" : "1"}
                  value={partOf(value, [slot])}
                  onInput={(event) => set(withPart(value, [slot], event.currentTarget.value.trim() || undefined))}
                />
                {faultOf(slot) && <div class="bad small wraps" id={`${id}-${slot}`}>{faultOf(slot)}</div>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="hint"><Said text={option.summary} /></div>
      {refused && <div class="fault"><Said text={refused} /></div>}
    </div>
  );
}
