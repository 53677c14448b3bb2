// The first and the last users in line.
import { Link } from "wouter-preact";
import { factor } from "../../lib/numbers.ts";
import { groupPath, memberId } from "../../lib/route.ts";
import { Card } from "../../ui/Basics.tsx";
import { Rank, type Ranked } from "../../ui/Rank.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty } from "../../ui/States.tsx";

export interface Place extends Ranked {
  user_uuid: string | null;
  user_name: string | null;
  project_id: string | null;
  project_name: string | null;
  fair_share_factor: string;
  ranked_count: number;
}

export function People({ group, title, rows }: { group: string; title: string; rows: Place[] }) {
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty title="No user is ranked" />
      ) : (
        <Scroll>
          <table class="data">
            <caption class="visually-hidden">{title}</caption>
            <thead>
              <tr>
                <th scope="col" class="number">Rank</th>
                <th scope="col">User</th>
                <th scope="col" class="number">Factor</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.user_uuid} ${row.project_id}`}>
                  <td class="number" data-value={row.rank}>
                    <Rank of={row} among={row.ranked_count} />
                  </td>
                  <th scope="row" class="name">
                    <Link href={groupPath(group, "entity", "user", memberId({ user: row.user_uuid ?? "", project: row.project_id ?? "" }))}>{row.user_name ?? row.user_uuid}</Link>
                    <div class="muted small">{row.project_name ?? row.project_id}</div>
                  </th>
                  <td class="number" title={row.fair_share_factor}>{factor(row.fair_share_factor)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Card>
  );
}
