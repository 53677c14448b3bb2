// Taking a key away. An admin key needs more than a press, because it may be one's own, or the last one that works: its label is typed.
import { useState } from "preact/hooks";
import { graphql } from "../../gql.ts";
import { ApiError, request } from "../../lib/client.ts";
import type { Action } from "../../lib/copy.ts";
import { Button, Field, focusFault, Note, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Failure } from "../../ui/States.tsx";

const REVOKE = graphql(`mutation RevokeKey($id: UUID!) { revoke_key(id: $id) }`);

export interface RevokedKey {
  id: string;
  label: string;
  made: string;
  isAdmin: boolean;
}

/** The end of an id: its beginning is the time at which it was made, which many have in common. */
export const ending = (id: string): string => `…${id.slice(-8)}`;

const action = (id: string): Action => ({ document: REVOKE, variables: { id }, rest: { method: "DELETE", path: ["keys", id] }, command: ["keys", "revoke", id] });

export function RevokeKey({ of: { id, label, made, isAdmin }, close, revoked }: { of: RevokedKey; close: () => void; revoked: () => void }) {
  const [typed, setTyped] = useState("");
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState<ApiError>();
  const isWrong = isAdmin && typed.trim() !== label;
  const revoke = async (event: Event) => {
    event.preventDefault();
    setAsked(true);
    const form = event.currentTarget as HTMLElement;
    // The fault is drawn with the next frame only.
    if (isWrong) return requestAnimationFrame(() => focusFault(form));
    setError(undefined);
    try {
      await request(REVOKE, { id });
      revoked();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  return (
    <Dialog title={`Revoke “${label}”?`} close={close}>
      <form class="stack" onSubmit={(event) => void revoke(event)}>
        <p class="muted">
          The key <span class="mono" title={id}>{ending(id)}</span> was made <When at={made} />.
        </p>
        <p>Requests with this key are refused from then on, and every person who signed in with it is signed out. This cannot be taken back.</p>
        {isAdmin && (
          <Note kind="warn">
            This is an admin key. If it is yours, you will be signed out. If it is the last one that works, no page and no request can make a key again: only <code>fairshared keys create --role admin</code> on the server's machine can.
          </Note>
        )}
        {isAdmin && (
          <Field label={`Type the label of the key, “${label}”, to revoke it`} fault={isAsked && isWrong ? `This is not “${label}”.` : undefined}>
            {(props) => <input {...props} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />}
          </Field>
        )}
        {error && <Failure error={error} />}
        <div class="row">
          <Button kind="danger" type="submit">
            Revoke
          </Button>
          <CopyAs what="the revocation" action={action(id)} />
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
