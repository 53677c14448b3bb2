// The audit log: the author, time and reason of every change, and the state before and after it.
import { useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { graphql, type ResultOf, type VariablesOf } from "../../gql.ts";
import { actionName, actions, entryNumber } from "../../lib/auditLog.ts";
import { overtaken, undo, undoAction } from "../../lib/change.ts";
import { ApiError } from "../../lib/client.ts";
import type { Action } from "../../lib/copy.ts";
import { differences } from "../../lib/differences.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { exact } from "../../lib/time.ts";
import { Button, Card, Field, Note, Page, Select, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Failure, Shown } from "../../ui/States.tsx";
import { done } from "../../ui/Toast.tsx";

const LOG = graphql(`
  query Log($group: String, $action: String, $actor: String, $from: String, $to: String, $first: Int!, $offset: Int!) {
    audit_log(resource_group: $group, action: $action, actor: $actor, from: $from, to: $to, first: $first, offset: $offset) {
      count
      edges { node { id at actor action resource_group target before after reason undoable names { label name } } }
    }
  }
`);
type Entry = ResultOf<typeof LOG>["audit_log"]["edges"][number]["node"];
const PAGE = 50;

export default function Audit({ group }: PageProps) {
  const [params, change] = useParams();
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const everywhere = group === "" || params.get("all") === "1";
  const variables = { group: everywhere ? null : group, action: params.get("action"), actor: params.get("actor"), from: params.get("from"), to: params.get("to"), first: PAGE, offset: (page - 1) * PAGE };
  const log = useQuery(LOG, variables);
  return (
    <Page title="Audit" about="Every change by a person or a program, newest first." actions={<CopyAs action={logAction(variables)} />}>
      <Card flush>
        <div class="pad row">
          <Select aria-label="Action" style={{ maxWidth: "220px" }} options={[["", "every action"], ...actions()]} value={params.get("action") ?? ""} onChange={(event) => change({ action: event.currentTarget.value, page: null })} />
          <Author key={params.get("actor")} actor={params.get("actor") ?? ""} choose={(actor) => change({ actor, page: null })} />
          <label class="row small">
            <span class="word">from</span> <input class="input" style={{ width: "150px" }} type="date" value={params.get("from") ?? ""} onChange={(event) => change({ from: event.currentTarget.value, page: null })} />
          </label>
          <label class="row small">
            <span class="word">to</span> <input class="input" style={{ width: "150px" }} type="date" value={params.get("to") ?? ""} onChange={(event) => change({ to: event.currentTarget.value, page: null })} />
          </label>
          {group !== "" && <label class="check">
            <input type="checkbox" checked={everywhere} onChange={(event) => change({ all: event.currentTarget.checked ? "1" : null, page: null })} />
            All groups, and the server
          </label>}
        </div>
        <Shown answer={log}>
          {(data) =>
            data.audit_log.count === 0 ? (
              <Empty title="Nothing was changed">Changes of weights, options, queues, people and keys appear here.</Empty>
            ) : (
              <>
                <Scroll>
                  <table class="data cards">
                    <caption class="visually-hidden">Changes, newest first</caption>
                    <thead>
                      <tr>
                        <th scope="col">When</th>
                        <th scope="col">Who</th>
                        <th scope="col" class="name">What</th>
                        <th scope="col">Change</th>
                        <th scope="col">Undo</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.audit_log.edges.map(({ node }) => (
                        <tr key={node.id}>
                          <td class="nowrap" title={exact(node.at)}><When at={node.at} /></td>
                          <td class="wrap">{node.actor}</td>
                          <td class="name">
                            <span title={node.action}>{actionName(node.action)}</span>
                            <div class="muted small" title={node.target}>{called(node, node.target)}</div>
                            {node.reason && <div class="small">“{node.reason}”</div>}
                          </td>
                          <td class="all" style={{ minWidth: "220px" }}><Difference entry={node} /></td>
                          <td class="act">{node.undoable && <UndoEntry entry={node} then={log.reload} />}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
                <Pager page={page} size={PAGE} count={data.audit_log.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
              </>
            )
          }
        </Shown>
      </Card>
    </Page>
  );
}

/** A typed name stays while the page follows the group, and counts once it is complete. */
function Author({ actor, choose }: { actor: string; choose: (actor: string) => void }) {
  const [typed, setTyped] = useState(actor);
  return <input class="input" style={{ width: "160px" }} type="search" aria-label="Author" placeholder="author" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} onChange={(event) => choose(event.currentTarget.value)} />;
}

function logAction(variables: VariablesOf<typeof LOG>): Action {
  const { group, action, actor, from, to } = variables;
  return {
    document: LOG,
    variables,
    rest: { path: ["audit-log"], query: { resource_group: group, action, actor, from, to } },
    command: ["log", ["--group", group], ["--action", action], ["--actor", actor], ["--from", from], ["--to", to]],
  };
}

function UndoEntry({ entry, then }: { entry: Entry; then: () => void }) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const act = async (event: Event) => {
    event.preventDefault();
    try {
      const warnings = await undo(entry.resource_group ?? "", entry.id, reason.trim() || null);
      done.value = { text: "The change is undone. It has an entry of its own, which can be undone, too.", warnings };
      setAsking(false);
      then();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    }
  };
  return (
    <>
      <Button small onClick={() => setAsking(true)} aria-label={`Undo ${actionName(entry.action)} of ${exact(entry.at)}`}>
        Undo
      </Button>
      {asking && (
        <Dialog title="Undo this change?" close={() => setAsking(false)}>
          <form class="stack" onSubmit={(event) => void act(event)}>
            <p>What it changed becomes as it was before:</p>
            <div>
              {differences(entry.after, entry.before, entry.names)
                .slice(0, 8)
                .map(([path, was, is]) => (
                  <div key={path} class="small wrap">
                    {path}: {was} → {is}
                  </div>
                ))}
            </div>
            {error && (overtaken(error) ? <Note kind="bad">{error.message}</Note> : <Failure error={error} />)}
            <Field label="Reason, for the audit log">{(props) => <input {...props} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}</Field>
            <div class="row">
              <Button kind="primary" type="submit">
                Undo it
              </Button>
              <CopyAs what="this undo" action={undoAction(entryNumber(entry.id), reason.trim() || null)} />
              <Button onClick={() => setAsking(false)}>Cancel</Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}

/** The name of the user or project that an entry calls so. */
const called = (entry: Entry, label: string): string => entry.names.find((known) => known.label === label)?.name ?? label;

function Difference({ entry }: { entry: Entry }) {
  const all = differences(entry.before, entry.after, entry.names);
  const few = all.slice(0, 4);
  const line = ([key, was, is]: [string, string, string]) => (
    <div key={key} class="small wrap">
      {key && <span class="muted">{key}: </span>}
      {/* What was done, such as an import, has nothing before it. */}
      {entry.before === null ? is : `${was} → ${is}`}
    </div>
  );
  return (
    <>
      {few.map(line)}
      {all.length > few.length && (
        <details>
          <summary>{all.length - few.length} more</summary>
          {all.slice(few.length, 200).map(line)}
        </details>
      )}
    </>
  );
}
