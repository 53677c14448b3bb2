// Usage by day: all of it, and the part that still counts.
import { useMemo } from "preact/hooks";
import { many, significant } from "../../lib/numbers.ts";
import { useParams } from "../../lib/route.ts";
import { hoursUnit, slotName } from "../../lib/units.ts";
import type { DecayOptions } from "../../lib/decay.ts";
import { Card, Tabs } from "../../ui/Basics.tsx";
import { Chart } from "../../ui/Chart.tsx";
import { Empty } from "../../ui/States.tsx";
import { byDay, slotsOf, type Bucket } from "./days.ts";
import type { Mark } from "./marks.ts";

const SPANS: [string, string][] = [
  ["14", "14 days"],
  ["28", "28 days"],
  ["60", "60 days"],
  ["365", "A year"],
];

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** How many days the charts show. */
export function spanOf(params: URLSearchParams): number {
  return Number(params.get("days") ?? 28) || 28;
}

export function UsageByDay({ buckets, options, last, marks }: { buckets: Bucket[]; options: DecayOptions; last: string; marks: Mark[] }) {
  const [params, change] = useParams();
  const known = slotsOf(buckets);
  const wished = params.get("slot");
  const slot = wished && known.includes(wished) ? wished : known[0];
  const span = spanOf(params);
  const { decay, half_life_days, lookback_days } = options;
  const chart = useMemo(() => {
    if (!slot) return null;
    const days = byDay(buckets, slot, last, span, { decay, half_life_days, lookback_days });
    const unit = hoursUnit(slot);
    return {
      times: days.days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000),
      series: [
        { name: `Used, ${unit}`, values: days.used, colour: "--accent", fill: "--faint", bars: true },
        { name: `Counts still, ${unit}`, values: days.counts, colour: "--accent", fill: "--accent", bars: true },
      ],
      capacity: days.offered.findLast((value) => value !== null),
    };
  }, [buckets, slot, last, span, decay, half_life_days, lookback_days]);
  return (
    <Card title="Usage by day" aside={<span class="muted small">days of UTC</span>}>
      {!slot || !chart ? (
        <Empty title="Nothing was used">What is used appears after the next run.</Empty>
      ) : (
        <>
          <div class="row">
            <Tabs label="Slot" tabs={known.map((name) => [name, slotName(name)])} chosen={slot} choose={(next) => change({ slot: next })} />
            <Tabs label="Days" tabs={SPANS} chosen={String(span)} choose={(next) => change({ days: next === "28" ? null : next })} />
          </div>
          <Chart title={`${slotName(slot)} used by day`} times={chart.times} series={chart.series} shown={shown} when={dayOf} marks={marks} />
          <p class="muted small">
            The faint bar is all that was used that day; the strong one is what still counts: usage loses half of its weight every {half_life_days === 1 ? "day" : `${half_life_days} days`}
            {decay === "flat" ? ", at once," : ""} and is forgotten after {many(lookback_days, "day")}.
            {chart.capacity ? ` The group offers ${significant(chart.capacity)} ${hoursUnit(slot)} a day.` : ""}
          </p>
        </>
      )}
    </Card>
  );
}

const shown = (value: number): string => significant(value, 3);
