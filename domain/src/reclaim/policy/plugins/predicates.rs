//! `predicates`: which agents a member can run on.

use super::Plugin;
use crate::reclaim::{Agent, PendingMember};

/// Only schedulable agents that carry the labels; free slots are counted besides.
pub(super) struct Predicates;

impl Plugin for Predicates {
    fn name(&self) -> &'static str {
        "predicates"
    }

    fn chooses_agents(&self) -> bool {
        true
    }

    fn predicate(&self, member: &PendingMember, agent: &Agent) -> bool {
        agent.schedulable && member.labels.iter().all(|(name, value)| agent.labels.get(name) == Some(value))
    }
}
