// The places ahead of an owner that runs nothing from now on.
import type { PathAhead } from "../lib/explanation.ts";
import { factor } from "../lib/numbers.ts";
import { Card } from "./Basics.tsx";
import { Scroll } from "./Scroll.tsx";

export function Outlook({ ahead: { next_run, dates, until } }: { ahead: PathAhead }) {
  return (
    <Card title="If nothing is run from now on">
      {dates.length === 0 && !next_run ? (
        <p class="muted">Neither the place nor the factor changes until {until}.</p>
      ) : (
        <Scroll>
          <table class="data">
            <caption class="visually-hidden">The path ahead</caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col" class="number" title="In the order in which starts are decided">Place</th>
                <th scope="col" class="number">Factor</th>
              </tr>
            </thead>
            <tbody>
              {next_run && (
                <tr>
                  <th scope="row">the next run</th>
                  <td class="number">{next_run.place}</td>
                  <td class="number" title={next_run.fair_share_factor}>{factor(next_run.fair_share_factor)}</td>
                </tr>
              )}
              {dates.map((date) => (
                <tr key={date.date}>
                  <th scope="row">{date.date}</th>
                  <td class="number">{date.place}</td>
                  <td class="number" title={date.fair_share_factor}>{factor(date.fair_share_factor)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Card>
  );
}
