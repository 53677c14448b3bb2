// The last division of a day: what every queue deserved and had then.
import { slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { shortDay } from "../../lib/time.ts";
import { ordered, slotName } from "../../lib/units.ts";
import { Card, Tabs, When } from "../../ui/Basics.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { Amounts, AmountsHead, AmountsLegend, wholeOf } from "./Amounts.tsx";
import { asNow, dividedBy, INDENT, inTree } from "./division.ts";
import { PAST_DIVISION } from "./query.ts";

export function PastDivision({ group, day }: { group: string; day: string }) {
  const answer = useQuery(PAST_DIVISION, { group, day }, false);
  return (
    <Shown answer={answer}>
      {({ division_history, queues }) => {
        const rows = asNow(division_history.edges.map((edge) => edge.node), queues.edges.map((edge) => edge.node));
        const first = rows[0];
        if (!first) {
          return (
            <Card>
              <Empty title={`No division of ${shortDay(day)} is kept`}>The job <code>divide</code> keeps the last division of every day on which the group has queues.</Empty>
            </Card>
          );
        }
        return (
          <Card title={dividedBy(first.algorithm)} flush aside={<span class="muted small">calculated <When at={first.calculated_at} /></span>}>
            <Table rows={rows} />
          </Card>
        );
      }}
    </Shown>
  );
}

interface Row {
  name: string;
  parent: string | null;
  quota: string;
  fair_share: string;
  allocated: string;
  request: string;
  saturation_ratio: string;
}

function Table({ rows }: { rows: Row[] }) {
  const [params, change] = useParams();
  const known = ordered(rows.flatMap((row) => Object.keys(slots(row.fair_share))));
  const wished = params.get("slot");
  const slot = wished && known.includes(wished) ? wished : (known[0] ?? "");
  // The capacity of a past division is not kept.
  const most = wholeOf(rows, slot, 0);
  return (
    <>
      <div class="pad stack">
        <Tabs label="Slot" tabs={known.map((name) => [name, slotName(name)])} chosen={slot} choose={(next) => change({ slot: next })} />
        <AmountsLegend slot={slot} whole={most} capacity={0} />
        {rows.some((row) => row.parent !== null) && <p class="muted small">The history does not keep parents: queues stand below those that they have now, and a queue that is gone stands by itself.</p>}
      </div>
      <Scroll>
        <table class="data cards">
          <caption class="visually-hidden">Queues and what they deserved of {slotName(slot)}</caption>
          <thead>
            <tr>
              <th scope="col" class="name">Queue</th>
              <AmountsHead />
            </tr>
          </thead>
          <tbody>
            {inTree(rows).map(({ queue: row, depth }) => (
              <tr key={row.name}>
                <th scope="row" class="name"><div style={{ paddingLeft: `${depth * INDENT}px` }}>{row.name}</div></th>
                <Amounts name={row.name} slot={slot} whole={most} of={row} />
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
