//! Limits of the reclaimer's queue and its ancestors, on the slots asked for (appendix B).

use super::holdings::Standing;
use super::outcome::Rule;
use super::policy::Denied;
use crate::domain::decimal::Amount;
use crate::domain::division::{Bound, Fraction};

/// The first limit that the request does not meet, counted after the victims.
pub fn check(standing: &Standing) -> Result<(), Denied> {
    first_above(standing, |queue, column| standing.with_request(queue, column))
}

/// A request that is above a limit by itself is helped by no victim.
pub fn possible(standing: &Standing) -> Result<(), Denied> {
    first_above(standing, |_, column| standing.request[column])
}

fn first_above(standing: &Standing, held: impl Fn(usize, usize) -> Amount) -> Result<(), Denied> {
    for queue in standing.scene.path.iter().copied() {
        for column in standing.asked() {
            if let Bound::Limited(limit) = standing.scene.tree.limit[(queue, column)]
                && held(queue, column) > limit
            {
                let ratio = Fraction::of(standing.with_request(queue, column), limit);
                return Err(Denied::ours(Rule::Limit, queue, column, ratio));
            }
        }
    }
    Ok(())
}
