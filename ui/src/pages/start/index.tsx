// A server without any resource group: how the first one is made, and what comes next.
import { useEffect } from "preact/hooks";
import { groupNames, groups, isAdmin, me } from "../../lib/session.ts";
import { Card, Page } from "../../ui/Basics.tsx";
import { serverAddress } from "../../ui/CopyAs.tsx";
import { Copyable } from "../../ui/Copyable.tsx";
import { Empty } from "../../ui/States.tsx";
import { agentLine, groupLine, kernelLine } from "./firstSteps.ts";

const LOOK_AGAIN_MS = 5000;

export default function Start() {
  useNewGroups();
  return (
    <Page title="Start" about="A resource group is a pool of nodes that one scheduler divides. This server has none that your key shows.">
      {isAdmin() ? <Steps /> : <Waiting />}
    </Page>
  );
}

/** Shows the groups as soon as a client makes one. */
function useNewGroups(): void {
  useEffect(() => {
    const look = async () => {
      if (document.hidden) return;
      const names = await groupNames().catch(() => []);
      if (names.length > 0) groups.value = names;
    };
    const timer = setInterval(() => void look(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
}

function Waiting() {
  const reached = me.value?.resource_groups;
  return (
    <Card>
      <Empty title="There is nothing to show yet">
        {reached ? `Your key shows the groups ${reached.join(", ")}, and none of them is there.` : "There is no resource group."} A key with the role admin makes one with <code>fairshared groups create NAME</code>. This page shows it by itself.
      </Empty>
    </Card>
  );
}

function Steps() {
  const group = me.value?.resource_groups?.[0] ?? "gpu";
  const startedAt = `${new Date().toISOString().slice(0, 19)}Z`;
  return (
    <Card title="Make the first resource group">
      <p class="muted">Each line reads a key from <code>FAIRSHARED_KEY</code>. Names, ids and amounts in them are examples.</p>
      <ol class="steps">
        <li>
          <strong>Make the group</strong>, with an admin key. <code>fairshared groups create {group}</code> does the same, and imports make their groups themselves. Live reports of a group that is not there are refused.
          <Copyable text={groupLine(group, serverAddress())} what="the line that makes the group" />
        </li>
        <li>
          <strong>Report the nodes and what they offer</strong>, with an admin key, again whenever that changes. Memory is in bytes.
          <Copyable text={agentLine(group, serverAddress())} what="the line that reports a node" />
        </li>
        <li>
          <strong>Let the scheduler report kernels</strong> when they start and when they end. The page Keys makes a key for it, with the role scheduler.
          <Copyable text={kernelLine(group, serverAddress(), startedAt)} what="the line that reports a kernel" />
        </li>
      </ol>
      <p class="muted small">This page shows the group by itself once it is there. All requests are described at <a href={`${serverAddress()}/docs/`}>{serverAddress()}/docs/</a>.</p>
    </Card>
  );
}
