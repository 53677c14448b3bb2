// One option: a choice, a number, or a map as its parts.
import { Field, Select } from "../../ui/Basics.tsx";
import { DivisionFields } from "./DivisionFields.tsx";
import { parse, type Option } from "./options.ts";
import { SlotWeights } from "./SlotWeights.tsx";

export interface OptionProps {
  option: Option;
  /** As it is edited. */
  value: string;
  inForce: unknown;
  readOnly: boolean;
  /** Why the server refuses the value. */
  refused: string | undefined;
  set: (value: string) => void;
  /** The slots that the group offers. */
  slots: string[];
}

export function OptionField(props: OptionProps) {
  const { option, value, inForce, readOnly, refused, set } = props;
  if (option.kind === "slots") return <SlotWeights {...props} />;
  if (option.kind === "json") return <DivisionFields {...props} />;
  const read = parse(option, value);
  const range = option.range ? ` ${option.range[0]} to ${option.range[1]}.` : "";
  const shown = inForce === undefined || inForce === null ? option.standard : String(inForce);
  return (
    <Field label={option.unit ? `${option.name}, ${option.unit}` : option.name} hint={`${option.effect}${range} Default: ${option.standard}.`} fault={"fault" in read ? read.fault : refused}>
      {(field) =>
        option.choices ? (
          <Select {...field} disabled={readOnly} options={[["", `the default (${option.standard})`], ...option.choices]} value={value} onChange={(event) => set(event.currentTarget.value)} />
        ) : (
          <input {...field} disabled={readOnly} inputMode={option.kind === "whole" ? "numeric" : "decimal"} placeholder={shown} value={value} onInput={(event) => set(event.currentTarget.value)} />
        )
      }
    </Field>
  );
}
