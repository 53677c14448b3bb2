//! `most_requested`: packs members on few agents.

use super::{MemberOnAgent, NodeScore, cut};

/// The mean used part of the slots that the member asks for, the member included.
pub(super) struct MostRequestedScore;

impl NodeScore for MostRequestedScore {
    fn name(&self) -> &'static str {
        "most_requested"
    }

    fn score(&self, seat: &MemberOnAgent) -> u128 {
        seat.mean_used().map_or(0, |part| cut(part, 1))
    }
}
