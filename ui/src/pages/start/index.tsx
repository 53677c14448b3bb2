// A server without any resource group: a form that makes the first one with the key of its scheduler, and what comes next.
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { ApiError, request } from "../../lib/client.ts";
import { groupPath } from "../../lib/route.ts";
import { groupNames, groups, isAdmin, me } from "../../lib/session.ts";
import { Button, Card, Field, focusFault, Note, Page } from "../../ui/Basics.tsx";
import { CopyAs, serverAddress } from "../../ui/CopyAs.tsx";
import { Copyable } from "../../ui/Copyable.tsx";
import { Empty, Failure } from "../../ui/States.tsx";
import { agentLine, kernelLine, nameFault } from "./firstSteps.ts";
import { groupAction, MAKE_GROUP, MAKE_SCHEDULER_KEY } from "./query.ts";

/** The group that the form made, with the key of its scheduler. */
interface Made {
  group: string;
  /** The only copy of the scheduler's key; `null`: none was made. */
  key: string | null;
}

const LOOK_AGAIN_MS = 5000;

export default function Start() {
  const [made, setMade] = useState<Made>();
  useNewGroups(made === undefined);
  return (
    <Page title="Start" about={`A resource group is a pool of nodes that one scheduler divides.${made ? "" : " This server has none that your key shows."}`}>
      {made ? <Next made={made} /> : isAdmin() ? <MakeFirst done={setMade} /> : <Waiting />}
    </Page>
  );
}

/** Shows the groups as soon as another client makes one. */
function useNewGroups(isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted) return;
    const look = async () => {
      if (document.hidden) return;
      const names = await groupNames().catch(() => []);
      if (names.length > 0) groups.value = names;
    };
    const timer = setInterval(() => void look(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isWanted]);
}

function Waiting() {
  const reached = me.value?.resource_groups;
  return (
    <Card>
      <Empty title="There is nothing to show yet">
        {reached ? `Your key shows the groups ${reached.join(", ")}, and none of them is there.` : "There is no resource group."} A key with the role admin makes one, here or with <code>fairshared groups create NAME</code>. This page shows it by
        itself.
      </Empty>
    </Card>
  );
}

function MakeFirst({ done }: { done: (made: Made) => void }) {
  const reached = me.value?.resource_groups ?? null;
  const [name, setName] = useState(reached?.[0] ?? "");
  const [wantsKey, setWantsKey] = useState(reached === null);
  const [isAsked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const fault = nameFault(name) ?? (reached && !reached.includes(name) ? `Your key reaches these groups only: ${reached.join(", ")}.` : undefined);
  const atServer = error?.faults.find(({ pointer }) => pointer === "/name")?.detail;
  const submit = async (event: Event) => {
    event.preventDefault();
    setAsked(true);
    const form = event.currentTarget as HTMLElement;
    // The fault is drawn with the next frame only.
    if (fault) return requestAnimationFrame(() => focusFault(form));
    setBusy(true);
    setError(undefined);
    try {
      await request(MAKE_GROUP, { name });
      const key = wantsKey ? (await request(MAKE_SCHEDULER_KEY, { label: `scheduler of ${name}`, groups: [name] })).create_key.key : null;
      done({ group: name, key });
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
      setBusy(false);
    }
  };
  return (
    <Card title="Make the first resource group">
      <form class="stack" noValidate onSubmit={(event) => void submit(event)}>
        <Field label="Name of the group" hint="Such as gpu, or the name of a partition or a cluster." fault={isAsked ? (fault ?? atServer) : undefined}>
          {(props) => (
            <input
              {...props}
              required
              style={{ maxWidth: "360px" }}
              value={name}
              onInput={(event) => {
                setName(event.currentTarget.value);
                setError(undefined);
              }}
            />
          )}
        </Field>
        {reached === null ? (
          <label class="check">
            <input type="checkbox" checked={wantsKey} onChange={(event) => setWantsKey(event.currentTarget.checked)} />
            Make a key for its scheduler, which reaches this group only and does not expire
          </label>
        ) : (
          <p class="muted small">Your key is limited to groups, so it makes no keys. An admin key without that limit makes the one of the scheduler.</p>
        )}
        {error && !atServer && <Failure error={error} />}
        <div class="row">
          <Button kind="primary" type="submit" disabled={busy}>
            {busy ? "Making it…" : "Make the group"}
          </Button>
          {!fault && <CopyAs what="the making of this group" action={groupAction(name)} />}
        </div>
      </form>
      <p class="muted small">
        Imports make their groups, too: <code>fairshared import sacct FILE</code>. Live reports of a group that is not there are refused.
      </p>
    </Card>
  );
}

function Next({ made: { group, key } }: { made: Made }) {
  const [, go] = useLocation();
  const [startedAt] = useState(() => `${new Date().toISOString().slice(0, 19)}Z`);
  const open = async () => {
    groups.value = await groupNames().catch(() => [group]);
    go(groupPath(group, "overview"));
  };
  return (
    <>
      {key && (
        <Card title="The key of the scheduler">
          <Note kind="warn">Copy it now. It is not shown again.</Note>
          <Copyable text={key} what="the key" kind="primary" />
        </Card>
      )}
      <Card title={`The group ${group} is there. What comes next?`}>
        <ol class="steps">
          <li>
            <strong>Report the nodes and what they offer</strong>, again whenever that changes. It takes an admin key, which the line reads from <code>FAIRSHARED_KEY</code>. The name of the node and its slots are examples; memory is in bytes.
            <Copyable text={agentLine(group, serverAddress())} what="the line that reports a node" />
          </li>
          <li>
            <strong>Let the scheduler report kernels</strong> when they start and when they end. Its own key is enough for that. Ids, names and amounts are examples.
            <Copyable text={kernelLine(group, serverAddress(), startedAt)} what="the line that reports a kernel" />
          </li>
          <li>
            <strong>Look at the group.</strong> Its pages follow by themselves what is reported. All requests are described at <a href={`${serverAddress()}/docs/`}>{serverAddress()}/docs/</a>.
            <div class="row">
              <Button {...(key ? {} : { kind: "primary" as const })} onClick={() => void open()}>
                Open {group}
              </Button>
            </div>
          </li>
        </ol>
      </Card>
    </>
  );
}
