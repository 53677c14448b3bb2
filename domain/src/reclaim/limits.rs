//! The limits of the reclaimer's queue and its ancestors, on the slots that it asks for (DIVISION appendix B).

use super::holdings::Holdings;
use super::outcome::Rule;
use super::policy::Denied;
use crate::decimal::Amount;
use crate::division::Fraction;
use crate::queues::Bound;

/// Checks the limits as if the victims were evicted. The error names the first limit that the request exceeds.
pub fn check(holdings: &Holdings) -> Result<(), Denied> {
    first_above(holdings, |queue, column| holdings.with_request(queue, column))
}

/// Checks the request alone: if it exceeds a limit by itself, no victim can help.
pub fn possible(holdings: &Holdings) -> Result<(), Denied> {
    first_above(holdings, |_, column| holdings.request[column])
}

fn first_above(holdings: &Holdings, held: impl Fn(usize, usize) -> Amount) -> Result<(), Denied> {
    for queue in holdings.snapshot.path.iter().copied() {
        for column in holdings.asked() {
            if let Bound::Limited(limit) = holdings.snapshot.tree.limit[(queue, column)]
                && held(queue, column) > limit
            {
                let ratio = Fraction::of(holdings.with_request(queue, column), limit);
                return Err(Denied::ours(Rule::Limit, queue, column, ratio));
            }
        }
    }
    Ok(())
}
