// The usage of every domain in a window beside its entitled share.
import { num } from "../../lib/numbers.ts";

interface Entry {
  domain_name: string;
  used_share: string;
  entitled_share: string;
}

export interface Served {
  name: string;
  used: number;
  entitled: number;
}

/** All domains in their order; who was not active received nothing and was entitled to nothing. */
export function served(domains: string[], entries: Entry[]): Served[] {
  const known = new Map(entries.map((entry) => [entry.domain_name, entry]));
  return domains.map((name) => ({ name, used: num(known.get(name)?.used_share), entitled: num(known.get(name)?.entitled_share) }));
}
