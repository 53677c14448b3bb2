// The meaning of the letters at the lines of a chart.
import type { Mark } from "./marks.ts";
import { LETTERS } from "./marks.ts";

export function MarksLegend({ marks }: { marks: Mark[] }) {
  const shown = (Object.keys(LETTERS) as Mark["letter"][]).filter((letter) => marks.some((mark) => mark.letter === letter));
  if (shown.length === 0) return null;
  return (
    <div class="legend">
      {shown.map((letter) => (
        <span key={letter}>
          <span class="pill">{letter}</span> {LETTERS[letter]}
        </span>
      ))}
    </div>
  );
}
