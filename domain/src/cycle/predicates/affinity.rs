//! `affinity`: a workload runs near others.

use super::{AgentCandidate, AgentPredicate};

/// Refuses agents in whose domain no member runs that the workload wants to be with. As in Kubernetes the first member
/// of a group that wants to be with itself may go anywhere.
pub(super) struct AffinityPredicate;

impl AgentPredicate for AffinityPredicate {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn admits_beside(&self, candidate: &AgentCandidate) -> bool {
        let AgentCandidate { room, shape, agent, .. } = candidate;
        shape.with.iter().all(|term| {
            let Some(domain) = room.domain(*term, *agent) else { return false };
            room.present(*term, domain) > 0 || (room.present_anywhere(*term) == 0 && shape.matching.contains(term))
        })
    }
}
