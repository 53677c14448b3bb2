// Where an entity stood at the end of a day that is over.
import { factor, num, percent } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { shortDay } from "../../lib/time.ts";
import { Figures } from "../../ui/Basics.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { HISTORY } from "./query.ts";
import { named } from "./who.ts";

export function PastStanding({ group, tier, id, day }: { group: string; tier: string; id: string; day: string }) {
  const answer = useQuery(HISTORY, { group, ...named(tier, id), from: day, to: day }, false);
  return (
    <Shown answer={answer}>
      {({ fair_share_history }) => {
        const row = fair_share_history.edges[0]?.node;
        if (!row) return <Empty title={`Nothing is kept of ${shortDay(day)}`}>Either it was not there that day, or the history does not reach so far.</Empty>;
        return (
          <Figures
            items={[
              ["Rank", row.rank, "1 goes first"],
              ["Factor", <span title={row.fair_share_factor}>{factor(row.fair_share_factor)}</span>, "2 to the power of −(usage ÷ weight)"],
              ["Usage that counted, of capacity", <span title={row.effective_usage}>{percent(num(row.effective_usage))}</span>, "Decayed usage as a part of what the group offered in the look-back"],
              ["Entitled, of all usage", <span title={row.entitled_share}>{percent(num(row.entitled_share))}</span>, "Of the whole group, by weight among those that were active"],
              ["Effective weight", row.effective_weight, "What divided the usage: of a user the weights of all three tiers multiplied"],
            ]}
          />
        );
      }}
    </Shown>
  );
}
