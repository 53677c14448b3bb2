// The changes of other clients since a draft was begun. A draft keeps the revision of the configuration at which it was begun: live
// refreshes do not move it, and a save names it, so that the second of two admins cannot write over the first unseen.
import { useEffect, useRef, useState } from "preact/hooks";
import { graphql, type ResultOf } from "../gql.ts";
import { entryNumber, isOfConfiguration, isOfNodes } from "./auditLog.ts";
import { request } from "./client.ts";

const STATE = graphql(`
  query DraftState($group: String!) {
    resource_group(name: $group) { config_revision }
    audit_log(resource_group: $group, first: 30) { edges { node { id at actor action target before after reason names { label name } } } }
  }
`);

type State = ResultOf<typeof STATE>;
export type LogEntry = State["audit_log"]["edges"][number]["node"];

/** A change of the configuration that a draft does not rest on. */
export interface Meanwhile {
  /** The revision that is there now. */
  revision: string;
  /** Newest first. */
  entries: LogEntry[];
  /** True where these are the changes since the draft was begun, and no other; else they are the latest ones of the group. */
  isExact: boolean;
}

/** The number of latest changes that are shown where it is not known which of them came after the draft. */
const LATEST = 5;

/** The number of changes that a revision counts: `17` of `17.5b0c77e2.3fa9c2d1`. */
const countOf = (revision: string): number => Number(revision.split(".")[0]);

/** The newest of some revisions of one group. */
export function newestRevision(...revisions: (string | null | undefined)[]): string | undefined {
  const known = revisions.filter((revision): revision is string => Boolean(revision));
  return known.toSorted((a, b) => countOf(b) - countOf(a))[0];
}

const entriesOf = (state: State): LogEntry[] => state.audit_log.edges.map(({ node }) => node);
const numberOf = (entry: LogEntry | undefined): number => (entry ? Number(entryNumber(entry.id)) : 0);

/** The changes after the entry of this number; `null`: it is not known which entry was the last. */
export function changesSince(entries: LogEntry[], begun: string, now: string, last: number | null): Omit<Meanwhile, "revision"> {
  const changes = entries.filter((entry) => isOfConfiguration(entry.action));
  if (last !== null) return { entries: changes.filter((entry) => numberOf(entry) > last), isExact: true };
  const count = Math.max(1, countOf(now) - countOf(begun));
  return { entries: changes.slice(0, Math.min(LATEST, count)), isExact: false };
}

/** The authors of the changes: `alice and bob`. */
export function authors(entries: LogEntry[]): string {
  const names = [...new Set(entries.map((entry) => entry.actor))];
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}

/** The last entry of the audit log when a draft was begun; `null`: the configuration had changed before that was asked; `undefined`: not known yet. */
function useLastEntry(group: string, begun: string | undefined): number | null | undefined {
  const [state, setState] = useState<{ begun?: string; last: number | null }>({ last: null });
  useEffect(() => {
    if (begun === undefined) return;
    const aborter = new AbortController();
    request(STATE, { group }, aborter.signal).then(
      (answer) => setState({ begun, last: answer.resource_group?.config_revision === begun ? numberOf(entriesOf(answer)[0]) : null }),
      () => !aborter.signal.aborted && setState({ begun, last: null }),
    );
    return () => aborter.abort();
  }, [group, begun]);
  return state.begun === begun ? state.last : undefined;
}

/**
 * What has changed since a draft was begun at the revision `begun`, where `seen` is the newest revision that the page has met.
 * Reports of nodes alone are followed: they are no decision of a person, and the preview shows what they change.
 */
export function useMeanwhile(group: string, begun: string | undefined, seen: string | undefined, follow: (revision: string) => void): Meanwhile | undefined {
  const last = useLastEntry(group, begun);
  const [state, setState] = useState<{ key: string; found?: Meanwhile }>({ key: "" });
  const followed = useRef(follow);
  followed.current = follow;
  const key = begun !== undefined && seen !== undefined && seen !== begun ? `${begun} ${seen}` : "";
  useEffect(() => {
    if (!key || last === undefined || begun === undefined || seen === undefined) return;
    const aborter = new AbortController();
    request(STATE, { group }, aborter.signal).then(
      (answer) => {
        const revision = newestRevision(answer.resource_group?.config_revision, seen) ?? seen;
        const since = changesSince(entriesOf(answer), begun, revision, last);
        if (since.isExact && since.entries.length > 0 && since.entries.every((entry) => isOfNodes(entry.action))) followed.current(revision);
        else setState({ key, found: { revision, ...since } });
      },
      () => !aborter.signal.aborted && setState({ key, found: { revision: seen, entries: [], isExact: false } }),
    );
    return () => aborter.abort();
  }, [key, group, last, begun, seen]);
  return key && state.key === key ? state.found : undefined;
}

/** The revision that the last save of this page left, by group: a draft that follows it rests on it, before the lists show it. */
const ownRevisions = new Map<string, string>();

export function noteOwnSave(group: string, revision: string): void {
  ownRevisions.set(group, revision);
}

/** The basis of a draft that is begun on what is shown at `shown`. */
export function basisOf(group: string, shown: string | undefined): string | undefined {
  const own = ownRevisions.get(group);
  // A group that was removed and made again counts from the beginning.
  const isOfSame = own?.split(".")[1] === shown?.split(".")[1];
  return shown && isOfSame ? newestRevision(shown, own) : shown;
}
