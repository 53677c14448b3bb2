// The months up to now, as spans of days.

export interface Month {
  name: string;
  from: string;
  to: string;
}

const name = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** This month until `today`, and the twelve before it. */
export function months(today: string): Month[] {
  const [year = 1970, month = 1] = today.split("-").map(Number);
  return Array.from({ length: 13 }, (_, back) => {
    const first = new Date(Date.UTC(year, month - 1 - back, 1));
    const last = new Date(Date.UTC(year, month - back, 0)).toISOString().slice(0, 10);
    return { name: back === 0 ? "this month" : name.format(first), from: first.toISOString().slice(0, 10), to: back === 0 ? today : last };
  });
}
