// The warnings of a write: the server has made it, and something in it looks like a mistake.
import type { WriteWarning } from "../lib/client.ts";
import { inWords } from "../lib/inWords.ts";
import { Said } from "./Said.tsx";

export function WriteWarnings({ warnings }: { warnings: WriteWarning[] }) {
  if (warnings.length === 0) return null;
  return (
    <section class="note warn warnings" aria-label="Warnings of the last change">
      <strong>{warnings.length === 1 ? "The server warns of one thing:" : `The server warns of ${warnings.length} things:`}</strong>
      {/* A long list scrolls by keyboard, too. */}
      <ul class="marks" tabIndex={0}>
        {warnings.map((warning) => (
          <Warning key={`${warning.queue ?? ""} ${warning.slot ?? ""} ${warning.detail}`} warning={warning} />
        ))}
      </ul>
    </section>
  );
}

function Warning({ warning }: { warning: WriteWarning }) {
  const { code, detail, pointer, count, queue, slot } = warning;
  return (
    <li class="small">
      {queue && <strong>{queue}: </strong>}
      <Said text={inWords(detail, slot ? [slot] : [])} exact={detail} />
      <div class="muted">
        <code>{code}</code>
        {pointer && <> at <code>{pointer}</code></>}
        {count && count > 1 && `, in ${count} places`}
      </div>
    </li>
  );
}
