//! `untainted`: avoids agents with a taint that only asks to stay away.

use super::{FULL_SCORE, MemberOnAgent, NodeScore};
use crate::placement_rules::tolerate;

/// 0 where a `PreferNoSchedule` taint is not tolerated, else 1.
pub(super) struct UntaintedScore;

impl NodeScore for UntaintedScore {
    fn name(&self) -> &'static str {
        "untainted"
    }

    fn score(&self, seat: &MemberOnAgent) -> u128 {
        let mut soft = seat.agent.iter().flat_map(|a| &a.taints).filter(|taint| !taint.effect.repels());
        if soft.all(|taint| tolerate(seat.member.rules.tolerations, taint)) { FULL_SCORE } else { 0 }
    }
}
