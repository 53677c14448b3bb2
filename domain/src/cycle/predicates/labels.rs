//! `labels`: an agent carries the labels that the member asks for.

use super::Predicate;
use crate::cycle::request::workloads::CycleAgent;
use crate::cycle::shapes::MemberKind;

/// Refuses agents without a label of the member, or that fail an expression of `affinity.agents`.
pub(super) struct Labels;

impl Predicate for Labels {
    fn name(&self) -> &'static str {
        "labels"
    }

    fn admits_agent(&self, member: &MemberKind, agent: &CycleAgent) -> bool {
        member.labels.iter().all(|(key, value)| agent.label(key) == Some(value))
            && member.expressions.iter().all(|expression| expression.accepts(&agent.labels))
    }
}
