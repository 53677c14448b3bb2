//! `labels`: an agent carries the labels that the member asks for.

use super::AgentPredicate;
use crate::cycle::shapes::{AgentRules, MemberRules};

/// Refuses agents without a label of the member, or that fail an expression of `affinity.agents`.
pub(super) struct LabelsPredicate;

impl AgentPredicate for LabelsPredicate {
    fn name(&self) -> &'static str {
        "labels"
    }

    fn admits_agent(&self, member: &MemberRules, agent: &AgentRules) -> bool {
        member.labels.iter().all(|(key, value)| agent.labels.get(key) == Some(value))
            && member.expressions.iter().all(|expression| expression.accepts(agent.labels))
    }
}
