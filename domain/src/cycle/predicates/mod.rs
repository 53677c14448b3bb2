//! Predicates decide on which agents a member may run (CYCLE §4). Room is no predicate. A predicate is one file here and
//! one line in [`PREDICATES`]; of those that refuse an agent the first one in the list is named in answers.

mod affinity;
mod anti_affinity;
mod labels;
mod max_per_agent;
mod schedulable;
mod taints;

use super::shapes::{AgentRules, MemberRules, PredicateSet, WorkloadShape};

/// The members that run or have started, as far as predicates look at them.
pub trait NeighbourCounts {
    /// The domain of an agent for a term of affinity; `None` if it does not have the label.
    fn domain(&self, term: usize, agent: usize) -> Option<usize>;

    /// How many members in the domain have the labels of the term.
    fn present(&self, term: usize, domain: usize) -> usize;

    /// The same in all domains.
    fn present_anywhere(&self, term: usize) -> usize;

    /// How many members in the domain are against the term.
    fn opposed(&self, term: usize, domain: usize) -> usize;

    /// How many members of a pending workload are on the agent.
    fn members_on(&self, workload: usize, agent: usize) -> usize;
}

/// A member of a workload on an agent, in the present state.
pub struct AgentCandidate<'c> {
    pub room: &'c dyn NeighbourCounts,
    pub shape: &'c WorkloadShape,
    /// The index of the workload.
    pub workload: usize,
    pub agent: usize,
}

/// A rule about agents. A method that it does not implement admits every agent.
pub trait AgentPredicate: Sync {
    fn name(&self) -> &'static str;

    /// False if the answer may be another one in the next cycle although the labels and taints of the agent are the same.
    fn is_lasting(&self) -> bool {
        true
    }

    /// The part of the rule that neither starts nor evictions change.
    fn admits_agent(&self, _member: &MemberRules, _agent: &AgentRules) -> bool {
        true
    }

    /// The part of the rule that depends on the members that run or have started.
    fn admits_beside(&self, _candidate: &AgentCandidate) -> bool {
        true
    }
}

/// All predicates, in the order in which they are asked. A new one is a new file and a line here.
pub static PREDICATES: &[&dyn AgentPredicate] = &[
    &schedulable::SchedulablePredicate,
    &labels::LabelsPredicate,
    &taints::TaintsPredicate,
    &max_per_agent::MaxPerAgentPredicate,
    &affinity::AffinityPredicate,
    &anti_affinity::AntiAffinityPredicate,
];

pub fn names() -> impl Iterator<Item = &'static str> {
    PREDICATES.iter().map(|predicate| predicate.name())
}

/// The predicates that refuse an agent for as long as it has its labels and taints.
pub fn lasting() -> PredicateSet {
    set_of(|predicate| predicate.is_lasting())
}

/// The predicates that refuse the agent whatever runs on it.
pub fn refusing(member: &MemberRules, agent: &AgentRules) -> PredicateSet {
    set_of(|predicate| !predicate.admits_agent(member, agent))
}

/// The name of the first predicate that refuses the agent for as long as it has its labels and taints.
pub fn first_lasting_refusal(member: &MemberRules, agent: &AgentRules) -> Option<&'static str> {
    let mut lasting = PREDICATES.iter().filter(|predicate| predicate.is_lasting());
    lasting.find(|predicate| !predicate.admits_agent(member, agent)).map(|predicate| predicate.name())
}

fn set_of(is_in: impl Fn(&dyn AgentPredicate) -> bool) -> PredicateSet {
    let bits = PREDICATES.iter().enumerate().filter(|(_, predicate)| is_in(**predicate));
    bits.fold(0, |set, (at, _)| set | 1 << at)
}

/// True if no predicate refuses because of members that run or have started.
pub fn admits_beside(candidate: &AgentCandidate) -> bool {
    PREDICATES.iter().all(|predicate| predicate.admits_beside(candidate))
}

/// The first predicate that refuses, given those that refuse whatever runs there.
pub fn first_refusing(set: PredicateSet, candidate: &AgentCandidate) -> Option<usize> {
    (0..PREDICATES.len()).find(|at| set & (1 << at) != 0 || !PREDICATES[*at].admits_beside(candidate))
}
