// The charge classes that a report can be limited to.

export const NO_CLASS = "without a class";

/** All classes with usage, and the one that is chosen, also where it has none in these days. A class stands behind `=`, because usage without a class can be chosen, too. */
export function classOptions(classes: string[], chosen: string | null): [string, string][] {
  const names = [...new Set(chosen === null ? classes : [...classes, chosen])].sort();
  return [["", "all"], ...names.map((name): [string, string] => [`=${name}`, name || NO_CLASS])];
}
