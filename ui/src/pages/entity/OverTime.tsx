// Factor and rank by day, with what happened meanwhile.
import { useMemo } from "preact/hooks";
import { factor, num } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { exact, plusDays } from "../../lib/time.ts";
import { Card } from "../../ui/Basics.tsx";
import { Chart } from "../../ui/LateChart.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import type { Mark } from "./marks.ts";
import { MarksLegend } from "./MarksLegend.tsx";
import { HISTORY } from "./query.ts";
import { named } from "./who.ts";

interface OverTimeProps {
  group: string;
  tier: string;
  id: string;
  last: string;
  days: number;
  marks: Mark[];
  /** Where it stands now; `null` while a past day is shown. */
  now: { rank: number | null; fair_share_factor: string } | null;
}

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1000;
const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);
const whole = (value: number): string => (Number.isInteger(value) && value > 0 ? String(value) : "");
const asFactor = (value: number): string => factor(String(value));

export function OverTime({ group, tier, id, last, days, marks, now }: OverTimeProps) {
  const answer = useQuery(HISTORY, { group, ...named(tier, id), from: plusDays(last, 1 - days), to: last });
  const chart = useMemo(() => {
    const kept = (answer.data?.fair_share_history.edges ?? []).map((edge) => edge.node);
    const rows = now && kept.length > 0 ? [...kept.filter((row) => row.day < last), { day: last, ...now }] : kept;
    return {
      times: rows.map((row) => startOf(row.day)),
      factors: [{ name: "Factor", values: rows.map((row) => num(row.fair_share_factor)), colour: "--accent" }],
      ranks: [{ name: "Rank", values: rows.map((row) => row.rank), colour: "--accent" }],
    };
  }, [answer.data, last, now]);
  return (
    <Card title="Factor and rank over time" aside={<span class="muted small">as each day of UTC left them{now && ", and now"}</span>}>
      <Shown answer={answer}>
        {() =>
          chart.times.length === 0 ? (
            <Empty title="No day is stored yet">The first run of a day writes where everybody stood at the end of the day before.</Empty>
          ) : (
            <div class="grid">
              <Chart title="Factor by day" times={chart.times} series={chart.factors} shown={asFactor} when={dayOf} height={200} marks={marks} fits />
              <Chart title="Rank by day, the first at the top" times={chart.times} series={chart.ranks} shown={whole} when={dayOf} height={200} marks={marks} fits upsideDown />
            </div>
          )
        }
      </Shown>
      <MarksLegend marks={marks} />
      {marks.length > 0 && (
        <details>
          <summary>What happened: {marks.length} {marks.length === 1 ? "mark" : "marks"} in the charts</summary>
          <ul class="marks">
            {marks.map((mark) => (
              <li key={`${mark.at}${mark.name}`}>
                <span class="pill">{mark.letter}</span> <time dateTime={new Date(mark.at * 1000).toISOString()}>{exact(new Date(mark.at * 1000).toISOString())}</time> {mark.name}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  );
}
