//! `schedulable`: a cordoned agent takes no new members.

use super::Predicate;
use crate::cycle::request::workloads::CycleAgent;
use crate::cycle::shapes::MemberKind;

/// Refuses agents that are not schedulable.
pub(super) struct Schedulable;

impl Predicate for Schedulable {
    fn name(&self) -> &'static str {
        "schedulable"
    }

    fn is_lasting(&self) -> bool {
        false
    }

    fn admits_agent(&self, _: &MemberKind, agent: &CycleAgent) -> bool {
        agent.schedulable
    }
}
