//! `taints`: an agent keeps away members that do not tolerate its taints.

use super::Predicate;
use crate::cycle::request::workloads::CycleAgent;
use crate::cycle::shapes::MemberKind;
use crate::placement_rules::tolerate_all;

/// Refuses agents with a taint that is not tolerated. `PreferNoSchedule` only lowers a score.
pub(super) struct Taints;

impl Predicate for Taints {
    fn name(&self) -> &'static str {
        "taints"
    }

    fn admits_agent(&self, member: &MemberKind, agent: &CycleAgent) -> bool {
        tolerate_all(member.tolerations, &agent.taints)
    }
}
