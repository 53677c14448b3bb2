// Usage by day: of a domain or project as the sum of its parts beside what the group offers; of everyone with what still counts.
import { useMemo } from "preact/hooks";
import type { DecayWeights } from "../../lib/decay.ts";
import { many, significant, slots } from "../../lib/numbers.ts";
import { useParams } from "../../lib/route.ts";
import { isUser } from "../../lib/session.ts";
import { hoursUnit, ordered, slotName } from "../../lib/units.ts";
import { Card, Field, Tabs } from "../../ui/Basics.tsx";
import type { Series } from "../../ui/Chart.tsx";
import { Chart } from "../../ui/LateChart.tsx";
import { Empty, Failure, Loading } from "../../ui/States.tsx";
import { byDay, filled, slotsOf, type Bucket } from "./days.ts";
import type { Mark } from "./marks.ts";
import { MarksLegend } from "./MarksLegend.tsx";
import { stacked, useParts, type Part } from "./parts.ts";
import type { Range } from "./range.ts";

const SPANS: [string, string][] = [
  ["14", "14 days"],
  ["28", "28 days"],
  ["60", "60 days"],
  ["365", "A year"],
];

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);
const timesOf = (days: string[]): number[] => days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000);

/** How the group decays usage. */
export interface Decay {
  half_life_days: number;
  lookback_days: number;
  weights: DecayWeights;
}

interface UsageByDayProps {
  group: string;
  tier: string;
  id: string;
  buckets: Bucket[];
  decay: Decay;
  /** The day as of which usage decays. */
  last: string;
  range: Range;
  marks: Mark[];
}

export function UsageByDay({ group, tier, id, buckets, decay, last, range, marks }: UsageByDayProps) {
  const [params, change] = useParams();
  const hasParts = tier !== "user" && !isUser();
  const isStacked = hasParts && params.get("view") !== "counts";
  const parts = useParts(group, tier, id, range, isStacked);
  const known = ordered([...slotsOf(buckets), ...(parts.rows ?? []).flatMap((row) => Object.keys(slots(row.resource_usage)))]);
  const wished = params.get("slot");
  const slot = wished && known.includes(wished) ? wished : known[0];
  const views: [string, string][] = [["parts", tier === "domain" ? "By project" : "By user"], ["counts", "What still counts"]];
  return (
    <Card title="Usage by day" aside={<span class="muted small">days of UTC</span>}>
      <div class="row">
        {slot && <Tabs label="Slot" tabs={known.map((name) => [name, slotName(name)])} chosen={slot} choose={(next) => change({ slot: next })} />}
        {hasParts && <Tabs label="View" tabs={views} chosen={isStacked ? "parts" : "counts"} choose={(next) => change({ view: next === "parts" ? null : next })} />}
      </div>
      <Days range={range} last={last} />
      {isStacked && parts.error ? (
        <Failure error={parts.error} />
      ) : isStacked && !parts.rows ? (
        <Loading />
      ) : !slot ? (
        <Empty title="Nothing was used">What is used appears after the next run.</Empty>
      ) : isStacked ? (
        <OfParts rows={parts.rows ?? []} isCut={parts.isCut ?? false} range={parts.range} {...{ tier, slot, buckets, decay, last, marks }} />
      ) : (
        <Counting {...{ slot, range, buckets, decay, last, marks }} />
      )}
      {slot && <MarksLegend marks={marks} />}
    </Card>
  );
}

/** A number of days until the last one, or from one day to another. */
function Days({ range, last }: { range: Range; last: string }) {
  const [params, change] = useParams();
  const isSpan = range.last === last && !params.get("from");
  return (
    <div class="row" style={{ alignItems: "flex-end" }}>
      <Tabs label="Days" tabs={SPANS} chosen={isSpan ? String(range.count) : ""} choose={(next) => change({ days: next === "28" ? null : next, from: null, to: null })} />
      <Field label="From">{(props) => <input {...props} type="date" value={range.first} max={range.last} onChange={(event) => change({ from: event.currentTarget.value, to: range.last, days: null })} />}</Field>
      <Field label="To">{(props) => <input {...props} type="date" value={range.last} max={last} onChange={(event) => change({ from: range.first, to: event.currentTarget.value, days: null })} />}</Field>
    </div>
  );
}

interface ChartOfProps {
  slot: string;
  range: Range;
  buckets: Bucket[];
  decay: Decay;
  last: string;
  marks: Mark[];
}

/** Bars that stand on one another. What stands highest is drawn first, so that the others cover all of it but its own part. */
function bars(parts: Part[]): Series[] {
  const heights = parts.map((_, at) => (parts[0]?.values ?? []).map((__, day) => parts.slice(0, at + 1).reduce((sum, part) => sum + (part.values[day] ?? 0), 0)));
  return parts.map(({ name, values }, at): Series => ({ name, values: heights[at] ?? [], exact: values, colour: `--part-${at + 1}`, fill: `--part-${at + 1}`, bars: true })).toReversed();
}

function OfParts({ rows, isCut, tier, slot, range, buckets, decay, last, marks }: ChartOfProps & { rows: Parameters<typeof stacked>[0]; isCut: boolean; tier: string }) {
  const [params, change] = useParams();
  const isBeside = params.get("capacity") !== "no";
  const chart = useMemo(() => {
    const days = byDay(buckets, slot, range, last, decay.weights);
    const capacity = filled(days.offered);
    const line: Series = { name: "The group offers", values: capacity, colour: "--ink-2", dash: true };
    return { times: timesOf(days.days), parts: bars(stacked(rows, slot, range)), line, isKnown: capacity.some((value) => value !== null) };
  }, [rows, buckets, slot, range, last, decay]);
  const series = useMemo(() => (isBeside && chart.isKnown ? [...chart.parts, chart.line] : chart.parts), [chart, isBeside]);
  if (isCut) return <Empty title="These are too many days for a chart by name">Choose fewer days, or look at what still counts.</Empty>;
  if (chart.parts.length === 0) return <Empty title={`No ${slotName(slot)} was used in these days`} />;
  return (
    <>
      <Chart title={`${slotName(slot)} used by day and ${tier === "domain" ? "project" : "user"}, in ${hoursUnit(slot)}`} times={chart.times} series={series} shown={shown} when={dayOf} marks={marks} />
      {chart.isKnown && (
        <label class="check">
          <input type="checkbox" checked={isBeside} onChange={(event) => change({ capacity: event.currentTarget.checked ? null : "no" })} />
          Beside what the group offers
        </label>
      )}
      <p class="muted small">
        Measured in {hoursUnit(slot)}. Bars stand on one another in the order of the names above, the {tier === "domain" ? "project" : "user"} that used most at the bottom.
      </p>
    </>
  );
}

/** All that was used, and the part that still counts. */
function Counting({ slot, range, buckets, decay, last, marks }: ChartOfProps) {
  const { half_life_days, lookback_days } = decay;
  const chart = useMemo(() => {
    const days = byDay(buckets, slot, range, last, decay.weights);
    const unit = hoursUnit(slot);
    return {
      times: timesOf(days.days),
      series: [
        { name: `Used, ${unit}`, values: days.used, colour: "--accent", fill: "--faint", bars: true },
        { name: `Still counts, ${unit}`, values: days.counts, colour: "--accent", fill: "--accent", bars: true },
      ],
      // The capacity of today is a mean over the hours that have passed.
      capacity: (range.last === last ? days.offered.slice(0, -1) : days.offered).findLast((value) => value !== null),
    };
  }, [buckets, slot, range, last, decay]);
  return (
    <>
      <Chart title={`${slotName(slot)} used by day`} times={chart.times} series={chart.series} shown={shown} when={dayOf} marks={marks} />
      <p class="muted small">
        The faint bar is all that was used that day; the strong one is what still counts: usage loses half of its weight every {half_life_days === 1 ? "day" : `${half_life_days} days`} and is forgotten after {many(lookback_days, "day")}.
        {chart.capacity ? ` On the last whole day the group offered ${significant(chart.capacity)} ${hoursUnit(slot)}.` : ""}
      </p>
    </>
  );
}

const shown = (value: number): string => significant(value, 3);
