// The states of a view that has no answer, an empty one, or a refusal.
import type { ComponentChildren } from "preact";
import type { Answer } from "../lib/query.ts";
import type { ApiError } from "../lib/client.ts";
import { Button } from "./Basics.tsx";
import { Said } from "./Said.tsx";

export function Loading() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <span />
      <span />
      <span />
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <div>{children}</div>}
    </div>
  );
}

/** A refusal in words. Several faults of one request are listed; a single one is the message itself. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  if (error.isForbidden) {
    return (
      <Empty title="Your key does not show this">
        <p>{error.message}</p>
      </Empty>
    );
  }
  const faults = error.faults.filter(({ detail }) => detail !== error.message);
  return (
    <div class="note bad" role="alert">
      <div class="row">
        <span title={faults.length === 0 ? error.faults[0]?.pointer : undefined}>
          <Said text={error.message} /> <span class="muted small">({error.code})</span>
        </span>
        {retry && (
          <Button small onClick={retry}>
            Try again
          </Button>
        )}
      </div>
      {faults.length > 0 && (
        <ul class="marks">
          {faults.map(({ pointer, detail }) => (
            <li key={pointer + detail} class="small" title={pointer}>
              <Said text={detail} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The answer when it is there, and what stands in for it otherwise. */
export function Shown<R>({ answer, children }: { answer: Answer<R>; children: (data: R) => ComponentChildren }) {
  if (answer.error) return <Failure error={answer.error} retry={answer.reload} />;
  if (!answer.data) return <Loading />;
  return <>{children(answer.data)}</>;
}
