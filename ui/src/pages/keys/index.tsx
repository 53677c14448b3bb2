// API keys by role: who has one, making one, taking one away.
import { useState } from "preact/hooks";
import { graphql, type VariablesOf } from "../../gql.ts";
import { ApiError, request } from "../../lib/client.ts";
import { copyText } from "../../lib/clipboard.ts";
import type { Action, Word } from "../../lib/copy.ts";
import { facts, labelled } from "../../lib/metadata.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { groups, me } from "../../lib/session.ts";
import { plusDays, today } from "../../lib/time.ts";
import { Button, Card, Field, Note, Page, Select, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Failure, Shown } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";
import { ending, RevokeKey, type RevokedKey } from "./RevokeKey.tsx";

const KEYS = graphql(`
  query Keys($first: Int!, $offset: Int!) {
    keys(first: $first, offset: $offset) {
      count
      edges { node { key_id role label user_name created_at expires_at revoked_at last_used_at resource_groups } }
    }
  }
`);
const CREATE = graphql(`
  mutation CreateKey($role: KeyRole!, $label: String!, $user: String, $expires: DateTime, $groups: [String!]) {
    create_key(role: $role, label: $label, user: $user, expires_at: $expires, resource_groups: $groups) { key row { label } }
  }
`);
const PAGE = 50;

export default function Keys() {
  const [params, change] = useParams();
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const keys = useQuery(KEYS, { first: PAGE, offset: (page - 1) * PAGE }, false);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<RevokedKey | null>(null);
  const own = me.value?.key_id;
  const limited = me.value?.resource_groups !== null;
  return (
    <Page
      title="Keys"
      about="A key lets a program or a person in. The text of a key is shown once, when it is made. After that it is recognised by its id."
      actions={
        <>
          <CopyAs action={{ document: KEYS, variables: { first: PAGE, offset: 0 }, rest: { path: ["keys"] }, command: ["keys", "list"] }} />
          {!limited && (
            <Button kind="primary" onClick={() => setMaking(true)}>
              Make a key
            </Button>
          )}
        </>
      }
    >
      <Card flush>
        <Shown answer={keys}>
          {(data) =>
            data.keys.count === 0 ? (
              <Empty title="No key yet" />
            ) : (
              <>
                <Scroll>
                  <table class="data cards">
                    <caption class="visually-hidden">API keys</caption>
                    <thead>
                      <tr>
                        <th scope="col" class="name" title="Its label, and the end of its id">Label and id</th>
                        <th scope="col">Role</th>
                        <th scope="col">Reaches</th>
                        <th scope="col">Made</th>
                        <th scope="col">Last used</th>
                        <th scope="col">Ends</th>
                        <th scope="col">Change</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.keys.edges.map(({ node }) => (
                        <tr key={node.key_id}>
                          <th scope="row" class="name">
                            {node.label} {node.key_id === own && <span class="pill good">yours</span>}
                            <div class="muted small mono" title={node.key_id}>{ending(node.key_id)}</div>
                          </th>
                          <td>
                            <span class="pill">{node.role}</span> {node.user_name}
                          </td>
                          <td class="wrap">{node.resource_groups?.join(", ") ?? "all groups"}</td>
                          <td><When at={node.created_at} /></td>
                          <td><When at={node.last_used_at} /></td>
                          <td>{node.revoked_at ? <span class="pill bad">revoked</span> : <When at={node.expires_at} />}</td>
                          <td class="act">
                            {!node.revoked_at && (
                              <Button small kind="danger" aria-label={`Revoke ${node.label}, ${ending(node.key_id)}`} onClick={() => setRevoking({ id: node.key_id, label: node.label, made: node.created_at, isOwn: node.key_id === own })}>
                                Revoke
                              </Button>
                            )}
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
                <Pager page={page} size={PAGE} count={data.keys.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
              </>
            )
          }
        </Shown>
      </Card>
      {making && (
        <MakeKey
          close={() => {
            setMaking(false);
            keys.reload();
          }}
        />
      )}
      {revoking && (
        <RevokeKey
          of={revoking}
          close={() => setRevoking(null)}
          revoked={() => {
            done.value = { text: `The key “${revoking.label}” is revoked. Every person who signed in with it is signed out.` };
            setRevoking(null);
            keys.reload();
          }}
        />
      )}
    </Page>
  );
}

function createAction(wanted: VariablesOf<typeof CREATE>): Action {
  const { label, user, expires, groups } = wanted;
  const role = wanted.role.toLowerCase();
  return {
    document: CREATE,
    variables: wanted,
    rest: { method: "POST", path: ["keys"], body: { role, label, user: user ?? undefined, expires_at: expires ?? undefined, resource_groups: groups ?? undefined } },
    command: ["keys", "create", ["--role", role], ["--label", label], ["--user", user], ["--expires", expires], ...(groups ?? []).map((group): Word => ["--group", group])],
  };
}

/** The end of the day this number of days from now. */
const dayAfter = (days: number): string => `${plusDays(today(), days + 1)}T00:00:00Z`;

/** The roles as GraphQL names them. */
const roles = (): [string, string][] => labelled(facts().roles).map(([name, label]) => [name.toUpperCase(), label]);

function MakeKey({ close }: { close: () => void }) {
  const [role, setRole] = useState("VIEWER");
  const [label, setLabel] = useState("");
  const [user, setUser] = useState("");
  const [group, setGroup] = useState("");
  const [days, setDays] = useState("90");
  const [error, setError] = useState<ApiError>();
  const [key, setKey] = useState("");
  const [copied, setCopied] = useState(false);
  const expires = days ? dayAfter(Number(days)) : null;
  const wanted = { role: role as "ADMIN", label, user: role === "USER" ? user : null, expires, groups: group ? [group] : null };
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      const answer = await request(CREATE, wanted);
      setKey(answer.create_key.key);
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  const faultOf = (pointer: string) => error?.faults.find((fault) => fault.pointer.startsWith(pointer))?.detail;
  if (key) {
    return (
      <Dialog title="The key is made" close={close}>
        <Note kind="warn">Copy it now. It is not shown again.</Note>
        <pre class="code" data-key>
          {key}
        </pre>
        <div class="row">
          <Button kind="primary" onClick={() => void copyText(key).then(setCopied)}>
            {copied ? "Copied" : "Copy"}
          </Button>
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Make a key" close={close}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <Field label="Label" hint="The holder of the key, as the audit log names it." fault={faultOf("/label")}>
          {(props) => <input {...props} required maxLength={255} value={label} onInput={(event) => setLabel(event.currentTarget.value)} />}
        </Field>
        <Field label="Role">{(props) => <Select {...props} options={roles()} value={role} onChange={(event) => setRole(event.currentTarget.value)} />}</Field>
        {role === "USER" && (
          <Field label="User" hint="The user's name, as schedulers report it." fault={faultOf("/user")}>
            {(props) => <input {...props} required value={user} onInput={(event) => setUser(event.currentTarget.value)} />}
          </Field>
        )}
        <Field label="Resource group">
          {(props) => <Select {...props} options={[["", "all"], ...groups.value.map((name): [string, string] => [name, name])]} value={group} onChange={(event) => setGroup(event.currentTarget.value)} />}
        </Field>
        <Field label="Ends">
          {(props) => (
            <Select
              {...props}
              options={[
                ["30", "in 30 days"],
                ["90", "in 90 days"],
                ["365", "in a year"],
                ["", "never"],
              ]}
              value={days}
              onChange={(event) => setDays(event.currentTarget.value)}
            />
          )}
        </Field>
        {error && !faultOf("/label") && !faultOf("/user") && <Failure error={error} />}
        <div class="row">
          <Button kind="primary" type="submit">
            Make the key
          </Button>
          <CopyAs what="the making of this key" action={createAction(wanted)} />
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
