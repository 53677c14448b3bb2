// Shares as bars: what is used as a filled bar, what is entitled as a mark.
import { percent } from "../lib/numbers.ts";

const width = (part: number) => ({ width: `${Math.min(100, Math.max(0, part * 100))}%` });
const at = (part: number) => ({ left: `min(${Math.min(100, Math.max(0, part * 100))}%, calc(100% - 2px))` });

export function ShareBar({ used, entitled, of = 1, label }: { used: number; entitled?: number | undefined; of?: number; label?: string }) {
  const whole = of || 1;
  const said = label ?? `${percent(used)} used${entitled === undefined ? "" : `, entitled to ${percent(entitled)}`}`;
  const over = entitled !== undefined && used > entitled;
  return (
    <div class="bar" role="img" aria-label={said} title={said}>
      <i style={width((over ? entitled : used) / whole)} />
      {over && <i class="over" style={{ left: width(entitled / whole).width, width: width((used - entitled) / whole).width }} />}
      {entitled !== undefined && <b style={at(entitled / whole)} />}
    </div>
  );
}

/** Several amounts of one whole on top of each other, the widest first. */
export function StackBar({ parts, mark, label }: { parts: { part: number; kind: string }[]; mark?: number; label: string }) {
  return (
    <div class="bar" role="img" aria-label={label} title={label}>
      {parts.map(({ part, kind }) => (
        <i key={kind} class={kind} style={width(part)} />
      ))}
      {mark !== undefined && <b style={at(mark)} />}
    </div>
  );
}
