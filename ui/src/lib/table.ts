// A table as it is seen, with exact values where the page shows rounded ones.

export type Cell = string | null;

export interface Table {
  head: string[];
  rows: Cell[][];
}

/** Without columns that hold nothing but buttons. */
export function withoutTools({ head, rows }: Table): Table {
  const kept = head.map((_, at) => rows.length === 0 || rows.some((row) => row[at] !== null));
  const of = <T>(cells: T[]): T[] => cells.filter((_, at) => kept[at]);
  return { head: of(head), rows: rows.map(of) };
}

export function json({ head, rows }: Table): string {
  const named = rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? null])));
  return `${JSON.stringify(named, null, 2)}\n`;
}

/** Reads a table of the page; a cell's `data-value`, or a number in its title, is the exact form of its text. */
export function readTable(table: HTMLTableElement): Table {
  const line = (row: HTMLTableRowElement): Cell[] => [...row.cells].flatMap((cell) => [cellOf(cell), ...Array<Cell>(cell.colSpan - 1).fill(null)]);
  const head = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.dataset["name"] ?? textOf(cell).replace(/\s*[↑↓]$/, ""));
  return withoutTools({ head, rows: [...table.tBodies].flatMap((body) => [...body.rows].map(line)) });
}

function cellOf(cell: HTMLTableCellElement): Cell {
  const exact = cell.dataset["value"] ?? (/^-?\d+(\.\d+)?$/.test(cell.title) ? cell.title : undefined);
  const input = cell.querySelector("input");
  const time = cell.querySelector("time");
  if (exact !== undefined) return exact;
  if (input) return input.value || input.placeholder || null;
  if (time && textOf(time) === textOf(cell)) return time.dateTime;
  return textOf(cell) || null;
}

/** The text of an element without the parts that are folded away, and without buttons. */
function textOf(element: Element): string {
  const parts = [...element.childNodes].map((node) => {
    if (node instanceof Text) return node.data;
    if (!(node instanceof HTMLElement) || node.matches("details, button:not(.sort), .bar, .phone-only")) return "";
    const text = textOf(node);
    return text && node.matches("div") && node.previousSibling ? ` · ${text}` : ` ${text}`;
  });
  return parts.join("").replace(/\s+/g, " ").trim();
}
