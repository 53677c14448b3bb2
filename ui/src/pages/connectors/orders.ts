// The two orders of a shadow report beside each other, and the sums of owners over its days.

export interface ComparedPlace {
  workload_id: string;
  user_name: string;
  project_name: string;
  place: number;
  current_place: number;
}

/** One place of both orders; a workload is missing where the report does not show it. */
export interface PlacePair {
  place: number;
  ours?: ComparedPlace;
  current?: ComparedPlace;
}

/** One row for each place of our order, beside the workload that has the place in the current order. */
export function sideBySide(places: ComparedPlace[]): PlacePair[] {
  const current = new Map(places.map((row) => [row.current_place, row]));
  return places.map((ours) => ({ place: ours.place, ours, current: current.get(ours.place) }));
}

export interface OwnerDay {
  user_name: string;
  project_name: string;
  places_gained: number;
}

/** The places that each owner gained on all days together; those who gained most come first. */
export function sumOfOwners(days: OwnerDay[]): OwnerDay[] {
  const sums = new Map<string, OwnerDay>();
  for (const { user_name, project_name, places_gained } of days) {
    const key = JSON.stringify([user_name, project_name]);
    const sum = sums.get(key) ?? { user_name, project_name, places_gained: 0 };
    sum.places_gained += places_gained;
    sums.set(key, sum);
  }
  const byName = (a: OwnerDay, b: OwnerDay) => a.user_name.localeCompare(b.user_name) || a.project_name.localeCompare(b.project_name);
  return [...sums.values()].toSorted((a, b) => b.places_gained - a.places_gained || byName(a, b));
}
