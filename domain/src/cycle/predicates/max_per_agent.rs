//! `max_per_agent`: a workload spreads its members.

use super::{AgentCandidate, AgentPredicate};

/// Refuses an agent that has as many members of the workload as it may have.
pub(super) struct MaxPerAgentPredicate;

impl AgentPredicate for MaxPerAgentPredicate {
    fn name(&self) -> &'static str {
        "max_per_agent"
    }

    fn admits_beside(&self, candidate: &AgentCandidate) -> bool {
        let own = || candidate.room.members_on(candidate.workload, candidate.agent);
        candidate.shape.max_per_agent.is_none_or(|most| own() < most)
    }
}
