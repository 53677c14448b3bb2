//! `predicates` decides on which agents a member can run.

use super::ReclaimPlugin;
use crate::reclaim::{PendingMember, ReclaimAgent};

/// Admits only schedulable agents that carry the required labels. Free slots are counted elsewhere.
pub(super) struct PredicatesPlugin;

impl ReclaimPlugin for PredicatesPlugin {
    fn name(&self) -> &'static str {
        "predicates"
    }

    fn summary(&self) -> &'static str {
        "It admits schedulable agents that carry the required labels."
    }

    fn chooses_agents(&self) -> bool {
        true
    }

    fn predicate(&self, member: &PendingMember, agent: &ReclaimAgent) -> bool {
        agent.schedulable && member.labels.iter().all(|(name, value)| agent.labels.get(name) == Some(value))
    }
}
