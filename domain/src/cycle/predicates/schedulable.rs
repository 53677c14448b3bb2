//! `schedulable`: a cordoned agent takes no new members.

use super::AgentPredicate;
use crate::cycle::shapes::{AgentRules, MemberRules};

/// Refuses agents that are not schedulable.
pub(super) struct SchedulablePredicate;

impl AgentPredicate for SchedulablePredicate {
    fn name(&self) -> &'static str {
        "schedulable"
    }

    fn is_lasting(&self) -> bool {
        false
    }

    fn admits_agent(&self, _: &MemberRules, agent: &AgentRules) -> bool {
        agent.schedulable
    }
}
