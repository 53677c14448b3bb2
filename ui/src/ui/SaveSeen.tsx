// The table beside it as a file: what is seen, in the order in which it is seen.
import { useRef } from "preact/hooks";
import { csv, download } from "../lib/csv.ts";
import { json, readTable, type Table } from "../lib/table.ts";
import { basePath } from "../lib/client.ts";
import { Menu } from "./Menu.tsx";

const FORMS: [string, string, string, (table: Table) => string][] = [
  ["CSV", "csv", "text/csv", ({ head, rows }) => csv(head, rows)],
  ["JSON", "json", "application/json", json],
];

export function SaveSeen() {
  const ref = useRef<HTMLDivElement>(null);
  const save = (end: string, type: string, write: (table: Table) => string) => {
    const table = ref.current?.parentElement?.querySelector("table");
    if (table) download(`${fileName(table)}.${end}`, write(readTable(table)), type);
  };
  return (
    <div class="saves" ref={ref}>
      <Menu label="Download" title="Download what is seen of this table" choices={FORMS.map(([name, end, type, write]) => ({ name, act: () => save(end, type, write) }))} />
    </div>
  );
}

/** After the page, and the table where the page has several. */
function fileName(table: HTMLTableElement): string {
  const page = decodeURI(location.pathname).slice(basePath().length);
  return [page, table.caption?.textContent ?? ""].join("-").replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^-|-$/g, "").slice(0, 100);
}
