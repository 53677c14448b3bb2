//! `least_requested`: spreads members over many agents.

use super::{MemberOnAgent, NodeScore, PART_UNIT, cut};

/// The mean free part of the slots that the member asks for, the member included.
pub(super) struct LeastRequestedScore;

impl NodeScore for LeastRequestedScore {
    fn name(&self) -> &'static str {
        "least_requested"
    }

    fn score(&self, seat: &MemberOnAgent) -> u128 {
        seat.mean_used().map_or(0, |part| cut(PART_UNIT.saturating_sub(part), 1))
    }
}
