// The home of a user's key: own places in the ranking and own kernels.
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { graphql } from "../../gql.ts";
import { nodeNames } from "../../lib/nodes.ts";
import { factor, many, num, percent, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId } from "../../lib/route.ts";
import { me } from "../../lib/session.ts";
import { describe } from "../../lib/units.ts";
import { Card, Page, When } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Rank } from "../../ui/Rank.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";

const MINE = graphql(`
  query Mine($group: String!) {
    user_fair_shares(resource_group: $group, first: 100) {
      count
      edges { node { user_uuid project_id project_name domain_name rank ranked_count previous_rank lookback_end fair_share_factor effective_usage } }
    }
    waiting: kernels(resource_group: $group, status: PENDING, first: 1) {
      count
    }
    running: kernels(resource_group: $group, status: RUNNING, first: 50) {
      count
      edges { node { kernel_id project_name occupied_slots started_at agent_ids } }
    }
  }
`);

export default function Mine({ group }: PageProps) {
  const answer = useQuery(MINE, { group });
  return (
    <Page
      title={`Hello, ${me.value?.user_name ?? me.value?.label ?? ""}`}
      about="Where you stand in this group. Rank 1 starts first."
      actions={<CopyAs action={{ document: MINE, variables: { group }, rest: { path: ["resource-groups", group, "fair-share-status"] }, command: ["rank", group] }} />}
    >
      <Shown answer={answer}>
        {(data) => (
          <>
            <p>
              {data.waiting.count === 0 ? "Nothing of yours waits to run." : <Link href={groupPath(group, "pending")}>{many(data.waiting.count, "kernel")} of yours {data.waiting.count === 1 ? "waits" : "wait"} to run</Link>}
            </p>
            {data.user_fair_shares.count === 0 ? (
              <Card>
                <Empty title="You have used nothing here">Your first kernel in this group goes before those of everyone who has used something for the same weight.</Empty>
              </Card>
            ) : (
              <div class="grid">
                {data.user_fair_shares.edges.map(({ node }) => (
                  <Card key={node.project_id} title={node.project_name ?? node.project_id} aside={<span class="muted small">{node.domain_name}</span>}>
                    <dl class="figures">
                      <div>
                        <dt>Rank</dt>
                        <dd>
                          <Rank of={node} among={node.ranked_count} />
                        </dd>
                      </div>
                      <div>
                        <dt>Factor</dt>
                        <dd title={node.fair_share_factor}>{factor(node.fair_share_factor)}</dd>
                      </div>
                      <div title="Decayed usage as a part of what the group offered in the look-back">
                        <dt>Usage that counts, of capacity</dt>
                        <dd>{percent(num(node.effective_usage))}</dd>
                      </div>
                    </dl>
                    <Link href={groupPath(group, "explain", "user", memberId({ user: node.user_uuid, project: node.project_id }))}>Why this rank, and what changes it</Link>
                    <Link href={groupPath(group, "entity", "user", memberId({ user: node.user_uuid, project: node.project_id }))}>My usage by day</Link>
                  </Card>
                ))}
              </div>
            )}
            <Card title={`Running now: ${data.running.count}`} flush>
              {data.running.count === 0 ? (
                <Empty title="Nothing of yours is running" />
              ) : (
                <Scroll>
                  <table class="data cards">
                    <caption class="visually-hidden">Your running kernels</caption>
                    <thead>
                      <tr>
                        <th scope="col">Project</th>
                        <th scope="col">Holds</th>
                        <th scope="col">Since</th>
                        <th scope="col">Node</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.running.edges.map(({ node }) => (
                        <tr key={node.kernel_id}>
                          <th scope="row">{node.project_name}</th>
                          <td class="all">{describe(slots(node.occupied_slots))}</td>
                          <td><When at={node.started_at} /></td>
                          <td class="wrap">{nodeNames(node.agent_ids)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
              )}
            </Card>
          </>
        )}
      </Shown>
    </Page>
  );
}
