//! `untainted`: avoids agents with a taint that only asks to stay away.

use super::{FULL_SCORE, NodeScore, Seat};
use crate::cycle::request::workloads::is_tolerated;

/// 0 where a `PreferNoSchedule` taint is not tolerated, else 1.
pub(super) struct Untainted;

impl NodeScore for Untainted {
    fn name(&self) -> &'static str {
        "untainted"
    }

    fn score(&self, seat: &Seat) -> u128 {
        let mut soft = seat.agent.iter().flat_map(|a| &a.taints).filter(|taint| !taint.effect.repels());
        if soft.all(|taint| is_tolerated(taint, seat.member.tolerations)) { FULL_SCORE } else { 0 }
    }
}
