// The letters at the lines of a chart, so that none stands on another.

interface Letters {
  /** Where their middle is. */
  at: number;
  text: string;
}

interface Run extends Letters {
  first: number;
  last: number;
}

/** A letter that would touch those to the left of it stands with them, each letter once. `width` is that of one letter. */
export function lettersAt(marks: { at: number; letter: string }[], width: number): Letters[] {
  const runs: Run[] = [];
  for (const { at, letter } of marks.toSorted((a, b) => a.at - b.at)) {
    const left = runs.at(-1);
    if (left && at - left.at < (width * (left.text.length + 1)) / 2) {
      left.last = at;
      left.at = (left.first + left.last) / 2;
      if (!left.text.includes(letter)) left.text += `·${letter}`;
    } else {
      runs.push({ at, text: letter, first: at, last: at });
    }
  }
  return runs.map(({ at, text }) => ({ at, text }));
}
