// Everything that can be chosen or set, with ranges, defaults, units and sentences, as the server has it. Nothing of it is typed on a page.
import { signal } from "@preact/signals";
import { graphql, type ResultOf } from "../gql.ts";
import { request } from "./client.ts";

export const METADATA = graphql(`
  query Metadata {
    metadata {
      schedulers { name summary }
      division_algorithms { name summary }
      reclaim_verdicts { name summary }
      reclaim_rules { name summary }
      queue_states { name summary }
      roles { name summary }
      audit_actions { name summary }
      fairness_windows
      session_seconds
      weight { minimum maximum decimals }
      queue_keys { key minimum maximum decimals }
      options {
        key title section type minimum maximum decimals default unset unit summary choices { name summary }
        options { key title type minimum maximum decimals default unset unit summary read_by choices { name summary } }
      }
      division_options { key title type minimum maximum decimals default unset unit summary read_by choices { name summary } }
      reclaim_options { key title type minimum maximum decimals default unset unit summary read_by choices { name summary } }
    }
  }
`);

export type Metadata = ResultOf<typeof METADATA>["metadata"];
/** An option of a group. */
export type Option = Metadata["options"][number];
/** An option of a division or of plans of reclaims. */
/** An option inside another one. */
export type PartOption = Metadata["division_options"][number];
export type Choice = Metadata["schedulers"][number];
type Described = Pick<Option, "default" | "unset">;

const loaded = signal<Metadata | undefined>(undefined);

/** Reads the facts, once for all pages. */
export async function loadMetadata(): Promise<void> {
  loaded.value ??= (await request(METADATA, {})).metadata;
}

export function setMetadata(metadata: Metadata): void {
  loaded.value = metadata;
}

/** The facts. They are there before the first page is. */
export function facts(): Metadata {
  if (!loaded.value) throw new Error("the metadata of the server is not loaded");
  return loaded.value;
}

/** `By weight.` as a part of a sentence: `by weight` */
export function within(summary: string): string {
  return `${summary.charAt(0).toLowerCase()}${summary.slice(1)}`.replace(/\.$/, "").replaceAll("`", "");
}

/** Choices for a list: each name with its meaning. */
export const labelled = (choices: Choice[]): [string, string][] => choices.map(({ name, summary }) => [name, `${name}: ${within(summary)}`]);

/** The meaning of a name; of one that the server does not list the name itself. */
export const meaningOf = (choices: Choice[], name: string): string => choices.find((choice) => choice.name === name)?.summary ?? name.replaceAll("_", " ");

/** The default of an option, as a text. */
export function defaultOf({ default: json, unset }: Described): string {
  if (json === null) return unset ?? "";
  const value: unknown = JSON.parse(json);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The option of that key. */
export const optionOf = (key: string): Option | undefined => facts().options.find((option) => option.key === key);
