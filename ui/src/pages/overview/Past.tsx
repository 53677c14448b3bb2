// How a group stood on a day that is over: what was used of it, who had received what, and who was first and last.
import { num, percent, slots } from "../../lib/numbers.ts";
import { useQuery, type Answer } from "../../lib/query.ts";
import { plusDays, shortDay } from "../../lib/time.ts";
import { ordered, slotName } from "../../lib/units.ts";
import { UseBar } from "../../ui/Bars.tsx";
import { Card } from "../../ui/Basics.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { Domains, type Window } from "./Domains.tsx";
import { Movers, type Moves } from "./Movers.tsx";
import { People, type Place } from "./People.tsx";
import { PAST, PAST_WINDOW, type PastData, type PastWindow } from "./query.ts";

export function Past({ group, day }: { group: string; day: string }) {
  const standing = useQuery(PAST, { group, from: day, to: day, day }, false);
  return (
    <Shown answer={standing}>
      {(data) =>
        data.best.count === 0 && data.usage_report.edges.length === 0 ? (
          <Card>
            <Empty title={`Nothing is kept of ${shortDay(day)}`}>Either no user was there that day, or the history does not reach so far.</Empty>
          </Card>
        ) : (
          <>
            <div class="grid">
              <Used day={day} data={data} />
              <PastDomains group={group} day={day} />
            </div>
            <div class="grid">
              <People group={group} title="First in line" rows={placed(data.best, data.best.count)} />
              <People group={group} title="Last in line" rows={placed(data.worst, data.best.count).toReversed()} />
              <Movers group={group} title="Top movers of that day" movers={moves(data, day)} none="Either all ranks are those of the day before, or no rank of one of the two days is kept." />
            </div>
          </>
        )
      }
    </Shown>
  );
}

function Used({ day, data }: { day: string; data: PastData }) {
  const parts = slots(data.usage_report.edges[0]?.node.capacity_share);
  const all = ordered(Object.keys(parts));
  return (
    <Card title="Capacity and use of that day">
      {all.length === 0 && <Empty title="Nothing was used">Of {shortDay(day)} no usage is recorded.</Empty>}
      {all.map((slot) => {
        const part = num(parts[slot]);
        const text = `${percent(part)} of the day's capacity used`;
        return (
          <div key={slot} class="stack tight">
            <div class="barlabel">
              <strong>{slotName(slot)}</strong>
              <span class="muted" title={parts[slot]}>{text}</span>
            </div>
            <UseBar label={`${slotName(slot)}: ${text}`} held={part} wanted={part} />
          </div>
        );
      })}
      <p class="muted small">A full bar is what the group offered that day. What waited on a past day, and which nodes served, is not kept.</p>
    </Card>
  );
}

const ABOUT = "by the weights of now, without decay.";

/** Windows that end with the day. The longer ones may begin before usage is kept. */
function PastDomains({ group, day }: { group: string; day: string }) {
  const asked = (days: number) => ({ group, window: `${plusDays(day, 1 - days)}..${day}` });
  const answers: [string, string, string, Answer<PastWindow>][] = [
    ["day", "That day", `What was used that day, ${ABOUT}`, useQuery(PAST_WINDOW, asked(1), false)],
    ["week", "7 days", `What was used that day and on the 6 days before, ${ABOUT}`, useQuery(PAST_WINDOW, asked(7), false)],
    ["month", "28 days", `What was used that day and on the 27 days before, ${ABOUT}`, useQuery(PAST_WINDOW, asked(28), false)],
  ];
  const kept = answers.filter(([, , , answer]) => !answer.error?.faults.some((fault) => fault.code === "out_of_range"));
  const waits = kept.find(([, , , answer]) => !answer.data);
  if (waits) {
    return (
      <Card title="Domains: used against entitled">
        <Shown answer={waits[3]}>{() => null}</Shown>
      </Card>
    );
  }
  const windows = kept.flatMap(([id, name, about, { data }]): Window[] => (data ? [{ id, name, about, ...data.fairness }] : []));
  // As the first window has them: who received the least of its part first.
  const names = [...new Set(windows.flatMap((window) => window.entries.edges.map((edge) => edge.node.domain_name)))];
  return <Domains group={group} names={names} windows={windows} />;
}

const moves = ({ best, rank_movers_of_day: { since, up, down } }: PastData, day: string): Moves => {
  const then = (rows: typeof up) => rows.map((row) => ({ ...row, ranked_count: best.count, lookback_end: day }));
  return { since, up: then(up), down: then(down) };
};

/** How those at the ends of the line moved that day is not asked. */
const placed = ({ edges }: PastData["worst"], among: number): Place[] => edges.map(({ node }) => ({ ...node, ranked_count: among, previous_rank: null, lookback_end: null }));
