// The names of the nodes that a kernel runs on.

/** How many names a cell of a table has room for. */
const SHOWN = 3;

/** The first names, and how many more there are. */
export function nodeNames(names: readonly string[]): string {
  const more = names.length - SHOWN;
  const shown = names.slice(0, SHOWN).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown || "–";
}
