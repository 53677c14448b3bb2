// Writes of queues, each on the grounds of what its preview was made from, and with a way back.
import { changed, guarded, type Written } from "../../lib/change.ts";
import { request, type WriteWarning } from "../../lib/client.ts";
import type { Action } from "../../lib/copy.ts";
import { inRest } from "./division.ts";
import { BASIS, DELETE_QUEUE, SAVE_QUEUES, type Queue } from "./query.ts";

/** Why, and on the grounds of which configuration. */
export interface Terms {
  reason: string | null;
  basis: string | null;
}

export function saveAction(group: string, queues: Queue[], { reason, basis }: Terms): Action {
  const documents = queues.map(inRest);
  return {
    document: SAVE_QUEUES,
    variables: { group, queues, reason, basis },
    rest: { method: "PUT", path: ["resource-groups", group, "queues"], body: { queues: documents, reason, if_revision: basis } },
    command: ["weights", "apply", group, ["--file", "-"], ["--reason", reason]],
    input: { queues: documents },
  };
}

/** No command removes a single queue. */
export function removeAction(group: string, name: string, { reason, basis }: Terms): Action {
  return {
    document: DELETE_QUEUE,
    variables: { group, name, reason, basis },
    rest: { method: "DELETE", path: ["resource-groups", group, "queues", name], query: { reason, if_revision: basis } },
  };
}

/** Writes the queues. The way back writes those that were there, and removes those that were not. */
export async function saveQueues(group: string, queues: Queue[], before: Queue[], terms: Terms): Promise<Written> {
  const warnings = await write(group, queues, terms);
  const known = new Set(before.map((queue) => queue.name));
  const added = queues.map((queue) => queue.name).filter((name) => !known.has(name));
  const undo = await wayBack(group, async (basis) => {
    const found = before.length > 0 ? await write(group, before, { reason: "undone", basis }) : [];
    // The first write is refused where another client has changed something; those that follow at once have no revision to name.
    let only = before.length > 0 ? null : basis;
    // Children were written after their parents.
    for (const name of added.toReversed()) {
      await guarded(group, request(DELETE_QUEUE, { group, name, reason: "undone", basis: only }));
      only = null;
    }
    return found;
  });
  return { warnings, undo };
}

async function write(group: string, queues: Queue[], terms: Terms): Promise<WriteWarning[]> {
  const answer = await guarded(group, request(SAVE_QUEUES, { group, queues, ...terms }));
  return answer.upsert_queues.warnings;
}

export async function removeQueue(group: string, queue: Queue, terms: Terms): Promise<Written> {
  await guarded(group, request(DELETE_QUEUE, { group, name: queue.name, ...terms }));
  // The server answers the removal of a queue without warnings.
  return { warnings: [], undo: await wayBack(group, (basis) => write(group, [queue], { reason: "undone", basis })) };
}

/** An undo that is refused where another write has changed the configuration since. */
async function wayBack(group: string, undo: (basis: string | null) => Promise<WriteWarning[]>): Promise<Written["undo"]> {
  const answer = await request(BASIS, { group });
  changed(group);
  return async () => {
    const warnings = await undo(answer.resource_group?.config_revision ?? null);
    changed(group);
    return warnings;
  };
}
