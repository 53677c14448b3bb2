// Which part of a list is shown, and the way to the others.
import { count as shown } from "../lib/numbers.ts";
import { Button } from "./Basics.tsx";

export function Pager({ page, size, count, go }: { page: number; size: number; count: number; go: (page: number) => void }) {
  const pages = Math.ceil(count / size);
  if (pages <= 1 && page <= 1) return null;
  return (
    <div class="pager">
      <span>
        {shown(Math.min(count, (page - 1) * size + 1))} to {shown(Math.min(page * size, count))} of {shown(count)}
      </span>
      {pages > 1 && (
        <span class="row">
          <Button small disabled={page <= 1} onClick={() => go(page - 1)}>
            Previous
          </Button>
          <Button small disabled={page >= pages} onClick={() => go(page + 1)}>
            Next
          </Button>
        </span>
      )}
    </div>
  );
}
