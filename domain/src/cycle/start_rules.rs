//! The rules about what can never start (CYCLE §3) that need no placement. Cycles use them, and so do lists of workloads,
//! which know of no order.

use crate::decimal::Amount;
use crate::division::fraction::{Fraction, largest_ratio};

/// The fit of equal members on agents without any member.
#[derive(Clone, Copy, Debug)]
pub struct MemberFit {
    pub count: usize,
    /// True if an agent has the labels and taints that they ask for.
    pub has_agent: bool,
    /// True if such an agent has room for one of them.
    pub could_run: bool,
}

/// The reason why too few members could ever run, with the place of the first ones that could not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberLack {
    /// Too few have an agent.
    Agents(usize),
    /// Too few have room on one.
    Room(usize),
}

/// Rules 1 and 2: fewer members than the minimum have an agent, or room on one.
pub fn find_lack(members: impl Iterator<Item = MemberFit>, minimum: usize) -> Option<MemberLack> {
    let (mut admitted, mut able) = (0usize, 0usize);
    let (mut refused, mut too_large) = (None, None);
    for (at, fit) in members.enumerate() {
        if !fit.has_agent {
            refused.get_or_insert(at);
            continue;
        }
        admitted += fit.count;
        if fit.could_run {
            able += fit.count;
        } else {
            too_large.get_or_insert(at);
        }
        if able >= minimum {
            return None;
        }
    }
    if admitted < minimum { refused.map(MemberLack::Agents) } else { too_large.map(MemberLack::Room) }
}

/// Rules 3 and 4: the slot of which most is asked for, compared with its bound, among those of which more is asked for than
/// the bound; the first one among equals. `asked` has the slots, what the minimum asks for with what it holds already, and
/// their bounds.
pub fn find_excess<S: Copy>(asked: impl Iterator<Item = (S, Amount, Amount)>) -> Option<(S, Amount, Amount)> {
    let over = asked.filter(|(_, asked, bound)| asked > bound);
    largest_ratio(over, |(_, asked, bound)| Fraction::of(asked, bound)).0
}
