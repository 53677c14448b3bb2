// One option: a choice, a number, or a map as its parts.
import { labelled, type Option } from "../../lib/metadata.ts";
import { Field, Select } from "../../ui/Basics.tsx";
import { Said } from "../../ui/Said.tsx";
import { parse, placeholderOf } from "./options.ts";
import { PartFields } from "./PartFields.tsx";
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
  if (option.type === "amounts") return <SlotWeights {...props} />;
  if (option.type === "object") return <PartFields {...props} />;
  const read = parse(option, value);
  const range = option.minimum === null ? "" : ` ${option.minimum} to ${option.maximum}.`;
  const standard = placeholderOf(option);
  const shown = inForce === undefined || inForce === null ? standard : String(inForce);
  return (
    <Field label={option.unit ? `${option.title}, ${option.unit}` : option.title} hint={<Said text={`${option.summary}${range} Default: ${standard}.`} />} fault={"fault" in read ? read.fault : refused}>
      {(field) =>
        option.choices.length > 0 ? (
          <Select {...field} disabled={readOnly} options={[["", `the default (${standard})`], ...labelled(option.choices)]} value={value} onChange={(event) => set(event.currentTarget.value)} />
        ) : (
          <input {...field} disabled={readOnly} inputMode={option.type === "integer" ? "numeric" : "decimal"} placeholder={shown} value={value} onInput={(event) => set(event.currentTarget.value)} />
        )
      }
    </Field>
  );
}
