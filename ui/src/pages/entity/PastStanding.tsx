// Where an entity stood at the end of a day that is over.
import { FACTOR_FORMULA, factor, num, percent } from "../../lib/numbers.ts";
import { useQuery } from "../../lib/query.ts";
import { isUser } from "../../lib/session.ts";
import { plusDays, shortDay } from "../../lib/time.ts";
import { Figures } from "../../ui/Basics.tsx";
import { Rank } from "../../ui/Rank.tsx";
import { Empty, Shown } from "../../ui/States.tsx";
import { HISTORY, RANKED } from "./query.ts";
import { entitled } from "./entitled.tsx";
import { named } from "./who.ts";

interface PastProps {
  group: string;
  tier: string;
  id: string;
  /** The domain whose projects are ranked together. */
  domain: string;
  day: string;
}

export function PastStanding({ group, tier, id, domain, day }: PastProps) {
  const before = plusDays(day, -1);
  const answer = useQuery(HISTORY, { group, ...named(tier, id), from: before, to: day }, false);
  // A key of a user has rows of its own only, which are not all that are ranked.
  const asked = isUser() ? null : { group, tier: named(tier, id).tier, domain: tier === "project" ? domain : null, day };
  const among = useQuery(RANKED, asked, false).data?.fair_share_history.count ?? null;
  return (
    <Shown answer={answer}>
      {({ fair_share_history }) => {
        const rows = fair_share_history.edges.map(({ node }) => node);
        const row = rows.find((one) => one.day === day);
        const previous_rank = rows.find((one) => one.day === before)?.rank ?? null;
        if (!row) return <Empty title={`Nothing is kept of ${shortDay(day)}`}>Either it was not there that day, or the history does not reach so far.</Empty>;
        return (
          <Figures
            items={[
              ["Rank", <Rank of={{ rank: row.rank, previous_rank, lookback_end: day }} among={among} />, "1 starts first"],
              ["Factor", <span title={row.fair_share_factor}>{factor(row.fair_share_factor)}</span>, FACTOR_FORMULA],
              ["Usage that counted, of capacity", <span title={row.effective_usage}>{percent(num(row.effective_usage))}</span>, "Decayed usage as a part of what the group offered in the look-back"],
              entitled(tier, row),
              ["Effective weight", row.effective_weight, "The divisor of the usage: for a user the product of the weights of all three tiers"],
            ]}
          />
        );
      }}
    </Shown>
  );
}
