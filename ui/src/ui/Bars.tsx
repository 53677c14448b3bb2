// Bars beside numbers: shares, and amounts that are used and waited for. All bars of a list have one scale, which is written beside it.
import { percent, roundPercent } from "../lib/numbers.ts";

const width = (part: number) => ({ width: `${Math.min(100, Math.max(0, part * 100))}%` });
const at = (part: number) => ({ left: `min(${Math.min(100, Math.max(0, part * 100))}%, calc(100% - 2px))` });

/** A value beyond the end of its bar has a mark there. */
const BEYOND = 1 + 1e-9;

/** Usage as a filled bar, the entitled share as a mark. */
export function ShareBar({ used, entitled, of = 1, label }: { used: number; entitled?: number | undefined; of?: number; label?: string }) {
  const whole = of || 1;
  const isCut = Math.max(used, entitled ?? 0) / whole > BEYOND;
  const said = `${label ?? `${percent(used)} used${entitled === undefined ? "" : `, entitled to ${percent(entitled)}`}`}${isCut ? `; the bar ends at ${roundPercent(whole)}` : ""}`;
  const over = entitled !== undefined && used > entitled;
  return (
    <div class={`bar ${isCut ? "cut" : ""}`} role="img" aria-label={said} title={said}>
      <i style={width((over ? entitled : used) / whole)} />
      {over && <i class="over" style={{ left: width(entitled / whole).width, width: width((used - entitled) / whole).width }} />}
      {entitled !== undefined && <b style={at(entitled / whole)} />}
    </div>
  );
}

/** The amount that is held, and behind it the amount that is waited for besides; as parts of the amount of a full bar. */
export function UseBar({ held, wanted, mark, label }: { held: number; wanted: number; mark?: number; label: string }) {
  return (
    <div class="bar" role="img" aria-label={label} title={label}>
      <i class="soft" style={width(wanted)} />
      <i style={width(held)} />
      {mark !== undefined && <b style={at(mark)} />}
    </div>
  );
}

/** The scale below bars of shares. */
export function ShareScale({ of, what }: { of: number; what: string }) {
  return (
    <div class="scale">
      <span>0</span>
      <span>{roundPercent(of / 2)}</span>
      <span>{roundPercent(of)} {what}</span>
    </div>
  );
}
