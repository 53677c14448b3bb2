//! `taints`: an agent keeps away members that do not tolerate its taints.

use super::Predicate;
use crate::cycle::request::workloads::{CycleAgent, is_tolerated};
use crate::cycle::shapes::MemberKind;

/// Refuses agents with a taint that is not tolerated. `PreferNoSchedule` only lowers a score.
pub(super) struct Taints;

impl Predicate for Taints {
    fn name(&self) -> &'static str {
        "taints"
    }

    fn admits_agent(&self, member: &MemberKind, agent: &CycleAgent) -> bool {
        let mut hard = agent.taints.iter().filter(|taint| taint.effect.repels());
        hard.all(|taint| is_tolerated(taint, member.tolerations))
    }
}
