// The places ahead of the entity that a page is about.
import { EXPLAIN, type Explanation } from "../../lib/explanation.ts";
import { useQuery } from "../../lib/query.ts";
import { Outlook } from "../../ui/Outlook.tsx";
import { Shown } from "../../ui/States.tsx";
import { named } from "./who.ts";

export function Ahead({ group, tier, id }: { group: string; tier: string; id: string }) {
  const { domain, project, user } = named(tier, id);
  const answer = useQuery(EXPLAIN, { group, tier, domain, project, user });
  return (
    <Shown answer={answer}>
      {(data) => {
        const explanation = JSON.parse(data.explain_fair_share) as Explanation;
        // The schedulers of Slurm compare the whole tree, and no path ahead is computed for them.
        return explanation.tree_levels ? null : <Outlook ahead={explanation.if_nothing_is_run} />;
      }}
    </Shown>
  );
}
