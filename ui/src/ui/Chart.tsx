// Values over time with uPlot, and the same values as a table for those who do not see charts.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { dayRange, dayTicks } from "../lib/dayTicks.ts";
import { lettersAt } from "../lib/letters.ts";
import { theme } from "../lib/theme.ts";

export interface Series {
  name: string;
  values: (number | null)[];
  /** The values that are read where they are not those that are drawn, as of bars that stand on others. */
  exact?: (number | null)[];
  /** A token of `app.css`. */
  colour: string;
  fill?: string;
  dash?: boolean;
  bars?: boolean;
}

interface ChartProps {
  title: string;
  /** Seconds since 1970, ascending. */
  times: number[];
  series: Series[];
  shown: (value: number) => string;
  /** How a moment is called in the table. */
  when: (seconds: number) => string;
  height?: number;
  /** Days with a line of their own, and the letter at it. */
  marks?: ChartMark[];
  /** The scale is as high as the values differ, for those that are never near 0. */
  fits?: boolean;
  /** The smallest value is at the top, as of ranks: only ranks that exist are beside the chart. */
  upsideDown?: boolean;
}

interface ChartMark {
  day: number;
  letter: string;
}

/** The pixels for each moment that leave room for a line between bars that stand on one another. */
const APART = 12;
/** The pixels for each label of a day. */
const LABEL = 64;
const NO_MARKS: ChartMark[] = [];

const dayAndMonth = (seconds: number): string => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(seconds * 1000));

const colourOf = (token: string): string => getComputedStyle(document.documentElement).getPropertyValue(token).trim();

/** A token's colour as the canvas takes it: the browser works out `light-dark()`. */
function resolved(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = colourOf(token);
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** A little more than from `min` to `max`, and at most by `most` on each side. */
function around(min: number, max: number, most: number): [number, number] {
  const room = Math.min(most, (max - min) * 0.08 || Math.abs(max) * 0.08 || 1);
  return [min - room, max + room];
}

export function Chart({ title, times, series, shown, when, height = 260, marks = NO_MARKS, fits = false, upsideDown = false }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null);
  const scheme = theme.value;
  useEffect(() => {
    const element = ref.current;
    if (!element || times.length === 0) return;
    const ink = resolved("--ink-2");
    const line = resolved("--line");
    const read = (value: number | null): string => (value === null ? "–" : shown(value));
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
    const draw = (chart: uPlot) => {
      chart.ctx.save();
      chart.ctx.strokeStyle = resolved("--line-strong");
      chart.ctx.setLineDash([4, 4]);
      chart.ctx.fillStyle = ink;
      chart.ctx.font = `${Math.round(11 * devicePixelRatio)}px system-ui, sans-serif`;
      chart.ctx.textAlign = "center";
      chart.ctx.textBaseline = "top";
      const { min = 0, max = 0 } = chart.scales["x"] ?? {};
      const shownMarks = marks.filter(({ day }) => day >= (min ?? 0) && day <= (max ?? 0)).map(({ day, letter }) => ({ at: chart.valToPos(day, "x", true), letter }));
      for (const x of new Set(shownMarks.map(({ at }) => at))) {
        chart.ctx.beginPath();
        chart.ctx.moveTo(x, chart.bbox.top + 15 * devicePixelRatio);
        chart.ctx.lineTo(x, chart.bbox.top + chart.bbox.height);
        chart.ctx.stroke();
      }
      for (const { at, text } of lettersAt(shownMarks, 10 * devicePixelRatio)) chart.ctx.fillText(text, at, chart.bbox.top + 2);
      chart.ctx.restore();
    };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height,
        cursor: { drag: { x: false, y: false } },
        // A line is a line in the legend, too, and no empty box that could be ticked.
        legend: { markers: { width: (_, at) => (series[at - 1]?.bars ? 6 : 1.5), dash: (_, at) => (series[at - 1]?.dash ? "dashed" : "solid"), stroke: (_, at) => resolved(series[at - 1]?.fill ?? series[at - 1]?.colour ?? "--ink") } },
        hooks: { draw: [draw], setLegend: [(chart) => element.classList.toggle("read", typeof chart.legend.idx === "number")] },
        // uPlot's own range of a single moment is almost three years long.
        scales: { x: { range: () => dayRange(times, series.some((one) => one.bars)) }, y: { dir: upsideDown ? -1 : 1, range: (_, min, max) => (fits ? around(min, max, upsideDown ? 0.5 : Infinity) : [0, max > 0 ? max * 1.08 : 1]) } },
        // uPlot's own days begin when those of the reader's zone do, which is another moment where summer time ends.
        axes: [{ ...axis, space: LABEL, splits: (_, __, min, max, step, space) => dayTicks(min, max, ((max - min) / step) * (space / LABEL)), values: (_, ticks) => ticks.map(dayAndMonth) }, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => shown(tick)) }],
        series: [
          { label: "Time", value: (_, at) => (at === null ? "–" : when(at)) },
          ...series.map((one): uPlot.Series => ({
            label: one.name,
            stroke: resolved(one.colour),
            width: 2,
            points: { show: times.length < 3 },
            ...(one.fill ? { fill: resolved(one.fill) } : {}),
            ...(one.dash ? { dash: [6, 4] } : {}),
            ...(one.bars && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 40] }), ...(one.exact && element.clientWidth >= APART * times.length ? { stroke: resolved("--paper"), width: 1 } : { width: 0 }), points: { show: false } } : {}),
            value: (_, value, __, at) => read(one.exact && at !== null ? (one.exact[at] ?? null) : value),
          })),
        ],
      },
      [times, ...series.map((one) => one.values)],
      element,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [times, series, height, scheme, marks, shown, when, fits, upsideDown]);
  return (
    <figure style={{ margin: 0 }}>
      <div ref={ref} class="chart" role="img" aria-label={`${title}. The same values are in the table below.`} style={{ minHeight: `${height}px` }} />
      <details>
        <summary>As a table</summary>
        <div class="scroll" style={{ maxHeight: "320px", overflowY: "auto" }} tabIndex={0} role="region" aria-label={title}>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">When</th>
                {series.map((one) => (
                  <th key={one.name} scope="col" class="number">
                    {one.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((at, row) => (
                <tr key={at}>
                  <th scope="row">{when(at)}</th>
                  {series.map((one) => {
                    const value = (one.exact ?? one.values)[row];
                    return (
                      <td key={one.name} class="number">
                        {value === null || value === undefined ? "–" : shown(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
