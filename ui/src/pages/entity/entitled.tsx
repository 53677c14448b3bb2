// The share that an entity's weight entitles it to, beside its factor.
import type { ComponentChildren } from "preact";
import { num, percent } from "../../lib/numbers.ts";

interface Shares {
  entitled_share: string;
  /** Null of days that an earlier version wrote. */
  entitled_share_of_parent: string | null;
}

const PARENTS: Record<string, string> = { project: "domain", user: "project" };

/** A figure with its explanation. A domain's parent is the whole group. */
export function entitled(tier: string, { entitled_share, entitled_share_of_parent: part }: Shares): [string, ComponentChildren, string] {
  const parent = PARENTS[tier];
  const inside = parent && part !== null && <small title={part}>{percent(num(part))} of what the {parent} has</small>;
  return [
    "Entitled, of all usage",
    <>
      <span title={entitled_share}>{percent(num(entitled_share))}</span> {inside}
    </>,
    "Part of the whole group, by weight among those that are active: those that used something in the look-back, or hold or wait for something",
  ];
}
