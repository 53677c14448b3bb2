// The effect of a downtime of the service on the usage of kernels that ran across it, in words.
import { meaningOf, optionOf, within } from "./metadata.ts";

/** The policy that GraphQL names in capitals. */
export const gapPolicy = (policy: string): string => within(meaningOf(optionOf("gap_policy")?.choices ?? [], policy.toLowerCase()));
