// Small parts of every page: buttons, fields, notes, figures.
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { exact, ago } from "../lib/time.ts";
import { Said } from "./Said.tsx";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "class"> & { kind?: "primary" | "plain" | "danger"; small?: boolean };

export function Button({ kind, small, children, ...rest }: ButtonProps) {
  return (
    <button type="button" class={`button ${kind ?? ""} ${small ? "small" : ""}`} {...rest}>
      {children}
    </button>
  );
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  fault?: string | undefined;
  children: (props: { id: string; "aria-describedby": string; "aria-invalid": "true" | undefined; class: string }) => ComponentChildren;
}

/** A control with its label, what it means, and what is wrong with it. */
export function Field({ label, hint, fault, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": `${id}-about`, "aria-invalid": fault ? "true" : undefined, class: "input" })}
      <div id={`${id}-about`}>
        {hint && <div class="hint">{hint}</div>}
        {fault && <div class="fault"><Said text={fault} /></div>}
      </div>
    </div>
  );
}

/** Puts the focus on the first field of a form that has a fault, so that the fault is read. */
export function focusFault(form: HTMLElement): void {
  form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}

export function Note({ kind, children }: { kind?: "warn" | "bad"; children: ComponentChildren }) {
  return (
    <div class={`note ${kind ?? ""}`} role={kind === "bad" ? "alert" : undefined}>
      {children}
    </div>
  );
}

export function Card({ title, aside, flush, children }: { title?: ComponentChildren; aside?: ComponentChildren; flush?: boolean; children: ComponentChildren }) {
  return (
    <section class={`card ${flush ? "flush" : ""}`}>
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

/** A page with its heading. */
export function Page({ title, about, crumbs, actions, children }: { title: ComponentChildren; about?: ComponentChildren; crumbs?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="page">
      <header>
        <div>
          {crumbs && <div class="crumbs">{crumbs}</div>}
          <h1 class="wrap">{title}</h1>
          {about && <p>{about}</p>}
        </div>
        {actions && <div class="row">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Figures({ items }: { items: [string, ComponentChildren, string?][] }) {
  return (
    <dl class="figures">
      {items.map(([name, value, meaning]) => (
        <div key={name} title={meaning}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function When({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="muted">never</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(at)}
    </time>
  );
}

export function Select({ options, ...rest }: JSX.IntrinsicElements["select"] & { options: [string, string][] }) {
  return (
    <select class="input" {...rest}>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

export function Tabs({ tabs, chosen, choose, label }: { tabs: [string, string][]; chosen: string; choose: (tab: string) => void; label: string }) {
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const at = tabs.findIndex(([id]) => id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!step || !next) return;
    choose(next[0]);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${CSS.escape(next[0])}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={onKey}>
      {tabs.map(([id, name]) => (
        <button key={id} type="button" role="tab" data-tab={id} aria-selected={id === chosen} tabIndex={id === chosen ? 0 : -1} onClick={() => choose(id)}>
          {name}
        </button>
      ))}
    </div>
  );
}
