// A table whose rows are cards on a phone: each cell says itself what it is, since there are no headings above it.

export function labelCells(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.dataset["name"] ?? cell.textContent ?? "");
  for (const body of table.tBodies) {
    for (const row of body.rows) {
      [...row.cells].forEach((cell, at) => {
        if (cell.tagName === "TD") cell.dataset["label"] = heads[at] ?? "";
      });
    }
  }
}
