// The users whose ranks moved most since the day before, now or on a day that is over.
import { Link } from "wouter-preact";
import { groupPath, memberId } from "../../lib/route.ts";
import { shortDay } from "../../lib/time.ts";
import { Card } from "../../ui/Basics.tsx";
import { Rank } from "../../ui/Rank.tsx";
import { Empty } from "../../ui/States.tsx";
import type { Data } from "./query.ts";

export type Moves = Data["rank_movers"];

interface MoversProps {
  group: string;
  title: string;
  movers: Moves;
  /** Why there may be none. */
  none: string;
}

export function Movers({ group, title, movers: { since, up, down }, none }: MoversProps) {
  return (
    <Card title={title} aside={since && <span class="muted small">compared with the end of {shortDay(since)}</span>}>
      {up.length + down.length === 0 ? (
        <Empty title="No user has moved">{none}</Empty>
      ) : (
        <>
          <List group={group} title="Up" rows={up} />
          <List group={group} title="Down" rows={down} />
        </>
      )}
    </Card>
  );
}

function List({ group, title, rows }: { group: string; title: string; rows: Moves["up"] }) {
  if (rows.length === 0) return null;
  return (
    <table class="data">
      <caption class="visually-hidden">{title} since the day before</caption>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number">Rank</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.user_uuid + row.project_id}>
            <th scope="row" class="name">
              <Link href={groupPath(group, "entity", "user", memberId({ user: row.user_uuid, project: row.project_id }))}>{row.user_name ?? row.user_uuid}</Link>
              <div class="muted small">{row.project_name ?? row.project_id}</div>
            </th>
            <td class="number" data-value={row.rank}>
              <Rank of={row} among={row.ranked_count} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
