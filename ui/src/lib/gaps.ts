// The effect of a downtime of the service on the usage of kernels that ran across it, in words.

const POLICIES: Record<string, string> = { interpolate: "counted as running through", ignore: "not counted meanwhile" };

export const gapPolicy = (policy: string): string => POLICIES[policy] ?? policy;
