// One key to sign in with.
import { useState } from "preact/hooks";
import { ApiError } from "./lib/client.ts";
import { signedOutBecause, signIn } from "./lib/session.ts";
import { Logo } from "./Frame.tsx";
import { Button, Field, Note } from "./ui/Basics.tsx";

export function SignIn() {
  const [key, setKey] = useState("");
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(key);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(error.code === "unknown_key" ? "This is no key of this server." : error.message);
    }
    setBusy(false);
  };
  return (
    <main class="signin">
      <form class="card" onSubmit={submit}>
        <div class="row">
          <Logo />
          <h1>fairshared</h1>
        </div>
        <p class="muted">Sign in to see who gets how much of the cluster, and why.</p>
        {signedOutBecause.value && <Note kind="warn">{signedOutBecause.value}</Note>}
        <Field label="API key" fault={fault} hint="It begins with fsk_. It is sent once; this page does not keep it.">
          {(props) => <input {...props} type="password" autocomplete="current-password" required value={key} onInput={(event) => setKey(event.currentTarget.value)} />}
        </Field>
        <Button kind="primary" type="submit" disabled={busy || key.trim() === ""}>
          {busy ? "Signing in…" : "Sign in"}
        </Button>
        <p class="muted small">
          An administrator makes a key with <code>fairshared keys create <span class="nowrap">--role viewer</span> <span class="nowrap">--label NAME</span></code>, or on the Keys page.
        </p>
      </form>
    </main>
  );
}
