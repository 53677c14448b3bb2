// Settings that are changed and not saved yet, with the state at which the first of them was changed.
import { facts, type Option } from "../../lib/metadata.ts";
import { mergePatch, patched } from "./mergePatch.ts";
import { isMap, parse, text } from "./options.ts";

export type Values = Record<string, unknown>;

/** The configured settings at a revision. */
export interface Configured {
  revision: string;
  values: Values;
  scheduler: string;
}

export interface Draft {
  begun: Configured;
  /** Options as texts, as a person types them. */
  edits: Record<string, string>;
  scheduler?: string;
}

/** The options of a draft that are not as they were when it was begun. */
export const changedOptions = ({ begun, edits }: Draft): Option[] => facts().options.filter((option) => edits[option.key] !== undefined && edits[option.key]?.trim() !== text(option, begun.values));

/** The other scheduler of a draft, if it chooses one. */
export const changedScheduler = ({ begun, scheduler }: Draft): string | undefined => (scheduler === begun.scheduler ? undefined : scheduler);

export const isEmpty = (draft: Draft): boolean => changedOptions(draft).length === 0 && changedScheduler(draft) === undefined;

/** The change of an option as the server takes it: of a map only the parts that are changed. */
export function optionPatch(option: Option, { begun, edits }: Draft): unknown {
  const read = parse(option, edits[option.key] ?? "");
  return "value" in read ? mergePatch(begun.values[option.key], read.value) : undefined;
}

/** The draft on another state: what it changes is changed there, and all else is as it is there. */
export function rebased(draft: Draft, now: Configured): Draft {
  const edits = changedOptions(draft).map((option): [string, string] => {
    const typed = draft.edits[option.key] ?? "";
    if ("fault" in parse(option, typed) || !isMap(option)) return [option.key, typed];
    return [option.key, text(option, { [option.key]: patched(now.values[option.key], optionPatch(option, draft)) })];
  });
  return { begun: now, edits: Object.fromEntries(edits), ...(draft.scheduler === undefined ? {} : { scheduler: draft.scheduler }) };
}
