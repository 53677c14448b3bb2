// Pending kernels in the order that a scheduler would be given now, each with its first reason.
import { Link } from "wouter-preact";
import type { PageProps } from "../../App.tsx";
import { count, factor, many, slots } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId } from "../../lib/route.ts";
import { isUser } from "../../lib/session.ts";
import { describe } from "../../lib/units.ts";
import { Card, Figures, Page } from "../../ui/Basics.tsx";
import { CopyAs } from "../../ui/CopyAs.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { PENDING, type Item } from "./query.ts";

export default function Pending({ group }: PageProps) {
  const answer = useQuery(PENDING, { group });
  return (
    <Page
      title="Pending"
      actions={<CopyAs action={{ document: PENDING, variables: { group }, rest: { path: ["resource-groups", group, "kernels"], query: { status: "PENDING" } }, command: ["kernels", "list", group, ["--status", "PENDING"]] }} />}
      about={isUser() ? "Your kernels that wait to run, and what is before them." : "Kernels that wait to run, in the order in which the scheduler would start them now."}
    >
      <Shown answer={answer}>
        {(data) =>
          data.sequence.items.length === 0 ? (
            <Card>
              <Empty title={isUser() ? "Nothing of yours waits" : "Nothing waits"}>Kernels that a scheduler reports as PENDING appear here.</Empty>
            </Card>
          ) : (
            <>
              <Figures
                items={[
                  [isUser() ? "Waiting in the group" : "Waiting", count(data.sequence.count)],
                  ["Ordered by", <>{data.resource_group?.scheduler} <small>{data.sequence.mode}</small></>, data.sequence.message],
                  [isUser() ? "Waited for in the group" : "Waited for", <small>{describe(slots(data.resource_group?.waiting))}</small>, "By all kernels that wait, together"],
                ]}
              />
              <Waiting group={group} items={data.sequence.items} count={data.sequence.count} />
            </>
          )
        }
      </Shown>
    </Page>
  );
}

function Waiting({ group, items, count: all }: { group: string; items: Item[]; count: number }) {
  return (
    <Card flush>
      <Scroll>
        <table class="data cards narrow">
          <caption class="visually-hidden">What waits, the next first</caption>
          <thead>
            <tr>
              <th scope="col" class="number">Position</th>
              <th scope="col" class="name wide">Owner</th>
              <th scope="col" class="wide-only" style={{ minWidth: "200px" }}>Why it has this position</th>
              <th scope="col">Asks for</th>
              <th scope="col" class="number">Rank</th>
              <th scope="col" class="number">Factor</th>
              <th scope="col">Kernel</th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={item.workload_id}>
                <td class="number">{item.position}</td>
                <th scope="row" class="name wide">
                  <Link href={groupPath(group, "explain", "user", memberId({ user: item.user_uuid, project: item.project_id }))}>{item.user_name ?? item.user_uuid}</Link>
                  <div class="muted small">{item.project_name ?? item.project_id}</div>
                  <div class="small phone-only"><Why item={item} /></div>
                </th>
                <td class="wide-only"><Why item={item} /></td>
                <td class="small all">{describe(slots(item.requested_slots))}</td>
                <td class="number">{item.rank ?? "–"}</td>
                <td class="number" title={item.fair_share_factor}>{factor(item.fair_share_factor)}</td>
                <td class="mono small" title={item.workload_id}>{item.workload_id.slice(0, 8)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {all > items.length && (
        <p class="pad muted small">{isUser() ? `${count(items.length)} of the ${count(all)} waiting kernels ${items.length === 1 ? "is" : "are"} yours.` : `The first ${count(items.length)} of ${count(all)}.`}</p>
      )}
    </Card>
  );
}

function Why({ item }: { item: Item }) {
  return (
    <>
      {item.because}
      <div class="muted small">
        {item.ahead > 0 ? `${item.ahead} before it, of ${many(item.owners_ahead, "owner")}` : "It starts as soon as the scheduler finds room for it."}
      </div>
    </>
  );
}
