//! `anti_affinity`: a workload keeps away from others, and others from it.

use super::{AgentCandidate, AgentPredicate};

/// Refuses agents in whose domain a member runs that the workload is against, or that is against the workload.
pub(super) struct AntiAffinityPredicate;

impl AgentPredicate for AntiAffinityPredicate {
    fn name(&self) -> &'static str {
        "anti_affinity"
    }

    fn admits_beside(&self, candidate: &AgentCandidate) -> bool {
        let AgentCandidate { room, shape, agent, .. } = candidate;
        let domain = |term: &usize| room.domain(*term, *agent);
        let is_free_of = |term: &usize| domain(term).is_none_or(|domain| room.present(*term, domain) == 0);
        let is_welcome = |term: &usize| domain(term).is_none_or(|domain| room.opposed(*term, domain) == 0);
        shape.against.iter().all(is_free_of) && shape.matching.iter().all(is_welcome)
    }
}
