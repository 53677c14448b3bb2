//! `taints`: an agent keeps away members that do not tolerate its taints.

use super::AgentPredicate;
use crate::cycle::shapes::{AgentRules, MemberRules};
use crate::placement_rules::tolerate_all;

/// Refuses agents with a taint that is not tolerated. `PreferNoSchedule` only lowers a score.
pub(super) struct TaintsPredicate;

impl AgentPredicate for TaintsPredicate {
    fn name(&self) -> &'static str {
        "taints"
    }

    fn admits_agent(&self, member: &MemberRules, agent: &AgentRules) -> bool {
        tolerate_all(member.tolerations, agent.taints)
    }
}
