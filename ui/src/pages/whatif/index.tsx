// A change that is not made yet: who would rise, who would fall; as a link, and applied.
import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "../../App.tsx";
import { graphql } from "../../gql.ts";
import { changed, simulateAction, type Change } from "../../lib/change.ts";
import { basisOf, newestRevision, useMeanwhile } from "../../lib/meanwhile.ts";
import { optionOf } from "../../lib/metadata.ts";
import { count, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { useParams } from "../../lib/route.ts";
import { isAdmin } from "../../lib/session.ts";
import { ordered } from "../../lib/units.ts";
import { summary } from "../../lib/summary.ts";
import { Button, Card, Page } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { CopyLink } from "../../ui/CopyLink.tsx";
import { Preview, useSimulation } from "../../ui/Preview.tsx";
import { Empty } from "../../ui/States.tsx";
import { DivisionPreview, useDivisions } from "../queues/DivisionPreview.tsx";
import { QUEUES } from "../queues/query.ts";
import { parse } from "../settings/options.ts";
import { Apply } from "./Apply.tsx";
import { Capacity, Options, People, Projects, Queues } from "./parts.tsx";
import { amounts, changeOf, decode, EMPTY, encode, isFaulty, isNothing, queuesOf, withParts, workloadsOf, type Scenario } from "./scenario.ts";
import { weightNow, type WeightNow } from "./weightNow.ts";
import { Weights } from "./WeightRows.tsx";

const NOW = graphql(`
  query WhatIfNow($group: String!) {
    resource_group(name: $group) { config_revision capacity }
    domain_fair_shares(resource_group: $group, first: 200) { edges { node { domain_name weight configured_weight } } }
    project_fair_shares(resource_group: $group, first: 500) { edges { node { project_name domain_name weight configured_weight } } }
  }
`);
const PENDING = graphql(`
  query WhatIfPending($group: String!) {
    workloads(resource_group: $group, status: PENDING, first: 1000) {
      count
      edges { node { workload_id user_uuid user project_id project requested_slots priority queue submitted_at expected_seconds known_order } }
    }
  }
`);

const read = (key: string, text: string): unknown => {
  const option = optionOf(key);
  const value = option && parse(option, text);
  return value && "value" in value ? value.value : text;
};

export default function WhatIf({ group }: PageProps) {
  const [params, change] = useParams();
  const scenario = decode(params.get("s"));
  const now = useQuery(NOW, { group });
  const work = useQuery(PENDING, { group }, false);
  const queues = useQuery(QUEUES, { group });
  const shownAt = now.data?.resource_group?.config_revision;
  const set = (next: Partial<Scenario>) => change({ s: encode(withParts(scenario, next, begun ?? basisOf(group, shownAt))) });
  const known = queues.data?.queues.edges.map((edge) => edge.node) ?? [];
  const weights: WeightNow[] = [
    ...(now.data?.domain_fair_shares.edges ?? []).map(({ node }) => weightNow("domain", node.domain_name, node)),
    ...(now.data?.project_fair_shares.edges ?? []).map(({ node }) => weightNow("project", node.project_name ?? "", node)),
  ];
  const faulty = isFaulty(scenario);
  const wanted = faulty ? null : changeOf(scenario, read);
  const pending = work.data?.workloads.edges.map((edge) => edge.node) ?? [];
  // A user who would be gone has no pending work.
  const isGone = (user: string | null, project: string | null) => scenario.removed.some((row) => row.user === user && (!row.project || row.project === project));
  const waiting = pending.filter((workload) => !isGone(workload.user, workload.project));
  const workloads = workloadsOf(waiting);
  const owners = new Map(pending.map((workload) => [workload.workload_id, `${workload.user ?? workload.user_uuid} in ${workload.project ?? workload.project_id}`]));
  const asked: Change | null = wanted && work.data ? { ...wanted, ...(workloads.length > 0 ? { workloads } : {}) } : null;
  const simulation = useSimulation(group, asked);
  const simulated = work.error ? { data: undefined, error: work.error, retry: work.reload } : simulation;
  const { data } = simulated;
  const changedQueues = faulty ? [] : queuesOf(scenario, known);
  const divides = known.length + changedQueues.length > 0 && (changedQueues.length > 0 || Boolean(wanted?.capacity));
  const divisions = useDivisions(divides ? queues.data : undefined, { changes: changedQueues, capacity: faulty ? {} : amounts(scenario.capacity) });
  const failure = simulated.error ?? queues.error ?? divisions.error;
  const offered = now.data?.resource_group?.capacity ?? "{}";
  const readQueues = queues.data?.resource_group?.config_revision;
  const previewed = (!wanted || Boolean(data)) && (changedQueues.length === 0 || Boolean(divisions.moved));
  // Two previews of one scenario have to rest on one configuration.
  const isTorn = previewed && data !== undefined && changedQueues.length > 0 && data.config_revision !== readQueues;
  useEffect(() => {
    if (isTorn) changed(group);
  }, [group, isTorn]);
  const previewedAt = previewed && !isTorn ? (data?.config_revision ?? readQueues) : undefined;
  // A link without a beginning begins with what its reader sees first.
  const [firstSeen, setFirstSeen] = useState<string>();
  const isBegun = !isNothing(scenario);
  useEffect(() => setFirstSeen((old) => (isBegun ? (old ?? shownAt) : undefined)), [isBegun, shownAt]);
  const begun = isBegun ? (scenario.basis ?? firstSeen) : undefined;
  const [refusedAt, refused] = useState<string>();
  const rebase = (revision: string) => change({ s: encode({ ...scenario, basis: revision }) });
  const meanwhile = useMeanwhile(group, isAdmin() ? begun : undefined, newestRevision(previewedAt, refusedAt), rebase);
  const basis = previewedAt === begun ? begun : undefined;
  return (
    <Page
      title="What if"
      about="Try weights, options, capacity, queues, people or another home for a project on the group as it is now. Nothing changes until you apply it."
      actions={
        <>
          {asked && <CopyAs what="this question" action={simulateAction(group, asked)} />}
          <CopyLink />
          <Button onClick={() => change({ s: null })}>Start again</Button>
        </>
      }
    >
      <datalist id="domains">
        {now.data?.domain_fair_shares.edges.map(({ node }) => <option key={node.domain_name}>{node.domain_name}</option>)}
      </datalist>
      <datalist id="projects">
        {now.data?.project_fair_shares.edges.map(({ node }) => <option key={node.project_name}>{node.project_name}</option>)}
      </datalist>
      <div class="grid">
        <div class="stack">
          <Weights scenario={scenario} set={set} group={group} known={weights} />
          <Options scenario={scenario} set={set} />
          <Capacity scenario={scenario} set={set} now={offered} />
          <Projects scenario={scenario} set={set} />
          <People scenario={scenario} set={set} />
          <Queues scenario={scenario} set={set} known={known.map((queue) => queue.name)} offered={ordered(Object.keys(slots(offered)))} />
        </div>
        <Card title="What would change">
          {faulty && <Empty title="A number cannot be read">The preview appears once the marked field is mended.</Empty>}
          {!faulty && !wanted && !divides && <Empty title="Nothing is changed yet">Add a weight, an option, some capacity, a queue, a user or a project on the left.</Empty>}
          {wanted && <Preview {...simulated} owners={owners} />}
          {wanted && work.data && work.data.workloads.count > pending.length && <p class="muted small">Of {count(work.data.workloads.count)} pending workloads the first {count(pending.length)} are put in order here.</p>}
          {divides && <DivisionPreview {...divisions} {...(queues.error ? { error: queues.error } : {})} />}
          {(wanted || changedQueues.length > 0) && isAdmin() && (
            <Apply
              group={group}
              change={wanted}
              queues={changedQueues}
              before={known.filter((queue) => changedQueues.some((other) => other.name === queue.name))}
              basis={basis}
              meanwhile={meanwhile}
              keep={() => meanwhile && rebase(meanwhile.revision)}
              refused={refused}
              isCalculating={previewedAt === undefined && !failure}
              said={data ? summary(data) : "Queues would deserve what is shown."}
              reset={() => change({ s: encode(EMPTY) })}
            />
          )}
        </Card>
      </div>
    </Page>
  );
}
