// Every view is an address: `GROUP/PAGE/…?…` below the pages' folder.
import { useLocation, useSearch } from "wouter-preact";
import { useCallback } from "preact/hooks";

export function groupPath(group: string, page: string, ...rest: string[]): string {
  return `/${[group, page, ...rest].map(encodeURIComponent).join("/")}`;
}

/** The address with some parameters set, and those that are empty left out. */
export function withParams(search: string, changes: Record<string, string | null>): string {
  const params = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

/** The parameters of the address, and a way to change them. What only narrows the view replaces the address. */
export function useParams(): [URLSearchParams, (changes: Record<string, string | null>, push?: boolean) => void] {
  const [path, go] = useLocation();
  const search = useSearch();
  const change = useCallback(
    (changes: Record<string, string | null>, push = false) => go(path + withParams(search, changes), { replace: !push }),
    [path, search, go],
  );
  return [new URLSearchParams(search), change];
}

export interface UserKey {
  user: string;
  project: string;
}

/** `user.project`, as one part of an address. */
export function memberId(key: UserKey): string {
  return `${key.user}.${key.project}`;
}

export function readMember(text: string): UserKey | null {
  const [user, project] = text.split(".");
  return user && project ? { user, project } : null;
}
