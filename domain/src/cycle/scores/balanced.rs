//! `balanced`: keeps the slots of an agent equally full, so that none is left over.

use super::{MemberOnAgent, NodeScore, PART_UNIT, cut};

/// 1 less the difference between the most and the least used slot of the agent, the member included.
pub(super) struct BalancedScore;

impl NodeScore for BalancedScore {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn score(&self, seat: &MemberOnAgent) -> u128 {
        let used = || (0..seat.total.len()).filter(|column| seat.total[*column] > 0).map(|column| seat.used(column));
        let difference = used().max().unwrap_or(0) - used().min().unwrap_or(0);
        cut(PART_UNIT - difference, 1)
    }
}
