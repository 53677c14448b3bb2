// Ranks before and after, as lines.
import type { Mover } from "../lib/change.ts";

const HEIGHT = 18;
const LEFT = 160;
const RIGHT = 280;
/** The number of letters of a name that have room on a phone, too. */
const MOST = 15;

export function SlopeChart({ movers }: { movers: Mover[] }) {
  const by = (rank: (mover: Mover) => number) => movers.toSorted((a, b) => rank(a) - rank(b));
  const before = by((mover) => mover.rank_before);
  const after = by((mover) => mover.rank_after);
  const y = (place: number): number => 24 + place * HEIGHT;
  const name = (mover: Mover): string => {
    const text = mover.user_name ?? mover.user_uuid;
    return text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
  };
  return (
    <svg class="slope" viewBox={`0 0 440 ${y(movers.length)}`} role="img" aria-label={`Ranks before and after: ${movers.map((mover) => `${name(mover)} from ${mover.rank_before} to ${mover.rank_after}`).join(", ")}`}>
      <text x={LEFT} y="12" text-anchor="end" class="muted">
        rank now
      </text>
      <text x={RIGHT} y="12" class="muted">
        rank then
      </text>
      {before.map((mover, at) => {
        const to = after.indexOf(mover);
        const rises = mover.rank_after < mover.rank_before;
        return (
          <g key={mover.user_uuid + mover.project_id}>
            <text x={LEFT} y={y(at) + 4} text-anchor="end">
              {name(mover)} {mover.rank_before}
            </text>
            <line x1={LEFT + 8} y1={y(at)} x2={RIGHT - 8} y2={y(to)} stroke={rises ? "var(--good)" : "var(--bad)"} stroke-width="2" stroke-dasharray={rises ? undefined : "5 4"} />
            <text x={RIGHT} y={y(to) + 4}>
              {mover.rank_after} {name(mover)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
