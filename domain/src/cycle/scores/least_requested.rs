//! `least_requested`: spreads members over many agents.

use super::{NodeScore, PART_UNIT, Seat, cut};

/// The mean free part of the slots that the member asks for, the member included.
pub(super) struct LeastRequested;

impl NodeScore for LeastRequested {
    fn name(&self) -> &'static str {
        "least_requested"
    }

    fn score(&self, seat: &Seat) -> u128 {
        seat.mean_used().map_or(0, |part| cut(PART_UNIT.saturating_sub(part), 1))
    }
}
