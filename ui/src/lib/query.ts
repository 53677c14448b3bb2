// Answers of the server as hooks: what was shown stays while the next answer is under way.
import { signal } from "@preact/signals";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { graphql, type TadaDocumentNode } from "../gql.ts";
import { ApiError, request } from "./client.ts";
import { isPast } from "./past.ts";
import { unreachable } from "./session.ts";

/** Grows when the group that is shown has changed; queries that are live follow it. */
export const revision = signal("");
export const isLive = signal(true);

const REVISION = graphql(`query Revision($group: String!) { resource_group(name: $group) { revision } }`);
const EVERY_MS = 2000;
/** The state of a group changes with every kernel; a page follows it at most once in this time. */
const AT_MOST_EVERY_MS = 4000;

/** Asks for the revision of `group` while the page is seen. */
export function useLive(group: string | undefined): void {
  useEffect(() => {
    if (!group) return;
    let stopped = false;
    let shown = 0;
    const ask = async () => {
      if (stopped || document.hidden || !isLive.value || isPast.value) return;
      const answer = await request(REVISION, { group }).catch(() => null);
      if (!answer || stopped) return;
      unreachable.value = false;
      const next = `${group} ${answer.resource_group?.revision ?? ""}`;
      if (next === revision.value || Date.now() - shown < AT_MOST_EVERY_MS) return;
      shown = Date.now();
      revision.value = next;
    };
    const timer = setInterval(ask, EVERY_MS);
    document.addEventListener("visibilitychange", ask);
    return () => {
      stopped = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, [group]);
}

export interface Answer<R> {
  data: R | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** The answer to `doc`. `null` variables: nothing is asked. `live`: asked again when the group changes. */
export function useQuery<R, V>(doc: TadaDocumentNode<R, V>, variables: V | null, live = true): Answer<R> {
  const key = variables === null ? "" : JSON.stringify(variables);
  const [state, setState] = useState<{ key: string; data?: R; error?: ApiError }>({ key: "" });
  const [turn, setTurn] = useState(0);
  const seen = live ? revision.value : "";
  const current = useRef(variables);
  current.current = variables;
  useEffect(() => {
    const asked = current.current;
    if (asked === null) return;
    const aborter = new AbortController();
    request(doc, asked, aborter.signal).then(
      (data) => setState({ key, data }),
      (error: unknown) => {
        if (aborter.signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError("failed", String(error));
        // The last answer stays on the screen while the server is away.
        setState((old) => (failure.code === "unreachable" && old.data && old.key === key ? old : { key, error: failure }));
      },
    );
    return () => aborter.abort();
  }, [doc, key, turn, seen]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  return { data: state.data, error: state.error, isLoading: variables !== null && state.key !== key, reload };
}
