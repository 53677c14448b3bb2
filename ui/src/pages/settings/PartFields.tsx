// An option that is an object, such as the division, as fields; what has no field is there as JSON.
import { labelled } from "../../lib/metadata.ts";
import { Field, Select } from "../../ui/Basics.tsx";
import { Said } from "../../ui/Said.tsx";
import { fieldFault, fieldsFor, type PartField } from "./parts.ts";
import { partOf, withPart } from "./maps.ts";
import type { OptionProps } from "./OptionField.tsx";
import { parse, placeholderOf } from "./options.ts";

export function PartFields({ option, value, readOnly, refused, set }: OptionProps) {
  const read = parse(option, value);
  const fault = "fault" in read ? read.fault : refused;
  return (
    <div class="stack whole">
      <div class="grid">
        {fieldsFor(option, partOf(value, ["algorithm"])).map((field) => (
          <OneField key={field.name} field={field} value={value} readOnly={readOnly} set={set} />
        ))}
      </div>
      <details open={fault !== undefined}>
        <summary>All of it, as JSON</summary>
        <Field label={option.title} hint="As the API takes it. Lists and weights have no field above." fault={fault}>
          {(props) => <textarea {...props} style={{ minHeight: "72px" }} disabled={readOnly} placeholder={placeholderOf(option)} value={value} onInput={(event) => set(event.currentTarget.value)} />}
        </Field>
      </details>
    </div>
  );
}

function OneField({ field, value, readOnly, set }: { field: PartField; value: string; readOnly: boolean; set: (value: string) => void }) {
  const { name, path, standard, choices, effect, range } = field;
  const write = (text: string) => {
    const trimmed = text.trim();
    set(withPart(value, path, trimmed === "" ? undefined : range?.type === "integer" && /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed));
  };
  return (
    <Field label={name} hint={<Said text={`${effect} Default: ${standard}.`} />} fault={fieldFault(field, partOf(value, path))}>
      {(props) =>
        choices.length > 0 ? (
          <Select {...props} disabled={readOnly} options={[["", `the default (${standard})`], ...labelled(choices)]} value={partOf(value, path)} onChange={(event) => write(event.currentTarget.value)} />
        ) : (
          <input {...props} disabled={readOnly} inputMode="decimal" placeholder={standard} value={partOf(value, path)} onInput={(event) => write(event.currentTarget.value)} />
        )
      }
    </Field>
  );
}
