// The amounts of a slot that are used and waited for, as parts of a bar that has room for both.

interface Scaled {
  used: number;
  /** Used and waited for. */
  wanted: number;
  /** Where the capacity ends; `null`: at the end of the bar. */
  capacity: number | null;
}

/** The bar is as long as the capacity, or as all that is wanted where that is more. */
export function onOneScale(capacity: number, used: number, waited: number): Scaled {
  const wanted = used + waited;
  const whole = Math.max(capacity, wanted);
  if (whole <= 0) return { used: 0, wanted: 0, capacity: null };
  return { used: used / whole, wanted: wanted / whole, capacity: wanted > capacity ? capacity / whole : null };
}
