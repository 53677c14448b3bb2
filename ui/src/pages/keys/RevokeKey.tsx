// Taking a key away. One's own key and the last admin key that works need more than a press: their label is typed.
import { useState } from "preact/hooks";
import { graphql } from "../../gql.ts";
import { ApiError, request } from "../../lib/client.ts";
import type { Action } from "../../lib/copy.ts";
import { Button, Field, focusFault, Note, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Failure } from "../../ui/States.tsx";

const REVOKE = graphql(`mutation RevokeKey($id: UUID!, $force: Boolean!) { revoke_key(id: $id, force: $force) }`);

export interface RevokedKey {
  id: string;
  label: string;
  made: string;
  /** The page is signed in with it. */
  isOwn: boolean;
}

/** The end of an id: its beginning is the time at which it was made, which many have in common. */
export const ending = (id: string): string => `…${id.slice(-8)}`;

const action = (id: string, force: boolean): Action => ({
  document: REVOKE,
  variables: { id, force },
  rest: { method: "DELETE", path: ["keys", id], query: { force } },
  command: ["keys", "revoke", id, ["--force", force]],
});

export function RevokeKey({ of: { id, label, made, isOwn }, close, revoked }: { of: RevokedKey; close: () => void; revoked: () => void }) {
  const [typed, setTyped] = useState("");
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState<ApiError>();
  // The server knows it, and says so when it is asked without force.
  const [isLast, setLast] = useState(false);
  const needsLabel = isOwn || isLast;
  const isWrong = needsLabel && typed.trim() !== label;
  const revoke = async (event: Event) => {
    event.preventDefault();
    setAsked(true);
    const form = event.currentTarget as HTMLElement;
    // The fault is drawn with the next frame only.
    if (isWrong) return requestAnimationFrame(() => focusFault(form));
    setError(undefined);
    try {
      await request(REVOKE, { id, force: isLast });
      revoked();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      if (cause.code !== "last_admin_key") return setError(cause);
      setLast(true);
      setTyped("");
      setAsked(false);
    }
  };
  return (
    <Dialog title={`Revoke “${label}”?`} close={close}>
      <form class="stack" onSubmit={(event) => void revoke(event)}>
        <p class="muted">
          The key <span class="mono" title={id}>{ending(id)}</span> was made <When at={made} />.
        </p>
        <p>Requests with this key are refused from then on, and every person who signed in with it is signed out. This cannot be taken back.</p>
        {isLast ? (
          <Note kind="bad">
            It was not revoked: this is the last valid admin key that reaches all groups. Without it no page and no request can make a key again, only <code>fairshared keys create --role admin</code> on the server's machine. Make another admin
            key first, or revoke this one nevertheless.
          </Note>
        ) : (
          isOwn && <Note kind="warn">You are signed in with this key. You will be signed out, and need another key to sign in again.</Note>
        )}
        {needsLabel && (
          <Field label={`Type the label of the key, “${label}”, to revoke it`} fault={isAsked && isWrong ? `This is not “${label}”.` : undefined}>
            {(props) => <input {...props} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />}
          </Field>
        )}
        {error && <Failure error={error} />}
        <div class="row">
          <Button kind="danger" type="submit">
            {isLast ? "Revoke it nevertheless" : "Revoke"}
          </Button>
          <CopyAs what="the revocation" action={action(id, isLast)} />
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
