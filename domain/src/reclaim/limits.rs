//! The limits of the reclaimer's queue and its ancestors, on the slots that it asks for (DIVISION appendix B).

use super::holdings::QueueHoldings;
use super::outcome::ReclaimRule;
use super::policy::EvictionDenial;
use crate::decimal::Amount;
use crate::division::Fraction;
use crate::queues::Bound;

/// Checks the limits as if the victims were evicted. The error names the first limit that the request exceeds.
pub fn check(holdings: &QueueHoldings) -> Result<(), EvictionDenial> {
    first_above(holdings, |queue, column| holdings.with_request(queue, column))
}

/// Checks the request alone: if it exceeds a limit by itself, no victim can help.
pub fn check_request_alone(holdings: &QueueHoldings) -> Result<(), EvictionDenial> {
    first_above(holdings, |_, column| holdings.request[column])
}

fn first_above(holdings: &QueueHoldings, held: impl Fn(usize, usize) -> Amount) -> Result<(), EvictionDenial> {
    for queue in holdings.snapshot.path.iter().copied() {
        for column in holdings.asked() {
            if let Bound::Limited(limit) = holdings.snapshot.tree.limit[(queue, column)]
                && held(queue, column) > limit
            {
                let ratio = Fraction::of(holdings.with_request(queue, column), limit);
                return Err(EvictionDenial::ours(ReclaimRule::Limit, queue, column, ratio));
            }
        }
    }
    Ok(())
}
