//! The things that members and workloads have in common with others: equal members have one kind, and workloads that differ only in
//! name, owner, queue, priority and times have one shape.

use crate::division::Fraction;
use crate::placement_rules::{LabelRequirement, Labels, Taint, Toleration};

/// A set of predicates: bit n stands for the predicate at index n of their registry.
pub type PredicateSet = u8;

/// The properties of a member on which it depends whether an agent may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberRules<'a> {
    /// The labels that the agent must carry.
    pub labels: &'a Labels,
    /// The requirements of `affinity.agents`.
    pub expressions: &'a [LabelRequirement],
    pub tolerations: &'a [Toleration],
}

/// The properties of an agent on which it depends whether it may have a member.
#[derive(Clone, Copy, Debug)]
pub struct AgentRules<'a> {
    /// With the label `agent_id`.
    pub labels: &'a Labels,
    pub taints: &'a [Taint],
    pub schedulable: bool,
}

/// Members that ask for the same slots and may run on the same agents.
pub struct MemberKind<'a> {
    /// As (column, units of 10^-12), without zeros.
    pub request: Vec<(usize, u128)>,
    pub rules: MemberRules<'a>,
    /// By agent: the predicates that refuse it whatever runs there.
    pub refusing: Vec<PredicateSet>,
    /// True if an agent has the labels and taints that the member asks for.
    pub has_agent: bool,
    /// True if such an agent has room for the member when it is empty.
    pub could_run: bool,
    /// The largest part of the capacity of any slot that a member asks for.
    pub size: Fraction,
}

/// Equal members of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberGroup {
    pub kind: usize,
    /// The number of the first of them in the list of the request, counts expanded.
    pub first: usize,
    pub count: usize,
    pub priority: i32,
}

/// Everything about a workload on which its placement depends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkloadShape {
    /// In task order.
    pub groups: Vec<MemberGroup>,
    /// How many members wait.
    pub count: usize,
    /// How many members run before the cycle.
    pub running: usize,
    /// The members that have to run together, running ones included.
    pub gang: usize,
    /// How many members may start at most.
    pub most: usize,
    /// Terms of affinity by index: to be near, to keep away from, and those that the workload's own labels match.
    pub with: Vec<usize>,
    pub against: Vec<usize>,
    pub matching: Vec<usize>,
    pub max_per_agent: Option<usize>,
    /// The running workload of which this is the rest, because its members count on their agents.
    pub rest_of: Option<usize>,
}

impl WorkloadShape {
    /// How many members have to start for the minimum; 0 if it runs.
    pub fn minimum(&self) -> usize {
        self.gang.saturating_sub(self.running)
    }

    /// True if starts elsewhere only ever take away from what the workload needs, so that a placement that failed fails
    /// again, and counting is exact.
    pub fn is_simple(&self) -> bool {
        self.groups.len() == 1 && self.with.is_empty() && self.against.is_empty()
    }

    /// True if in addition no workload can keep it away from agents, so that a placement that failed also fails for the same
    /// reason again.
    pub fn fails_alike(&self) -> bool {
        self.is_simple() && self.matching.is_empty()
    }

    /// True if members that run or have started may refuse an agent.
    pub fn looks_at_others(&self) -> bool {
        self.max_per_agent.is_some() || !(self.with.is_empty() && self.against.is_empty() && self.matching.is_empty())
    }
}
