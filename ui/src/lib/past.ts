// The moment that a page shows: now, or a day that is over. It is part of the address.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useParams } from "./route.ts";

/** While a past day is shown, nothing is polled. */
export const isPast = signal(false);

/** The day that an address names, if there is such a day and it is not after `last`. */
export function readDay(text: string | null, last: string): string | null {
  if (!text || !/^\d{4}-\d{2}-\d{2}$/.test(text) || text > last) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(at) && new Date(at).toISOString().slice(0, 10) === text ? text : null;
}

/** The past day that the page shows; `null`: now. `last` is the last day that may be chosen. */
export function usePastDay(last: string): [string | null, (day: string | null) => void] {
  const [params, change] = useParams();
  const day = readDay(params.get("at"), last);
  useEffect(() => {
    isPast.value = day !== null;
    return () => {
      isPast.value = false;
    };
  }, [day]);
  return [day, (next) => change({ at: next, page: null }, true)];
}
