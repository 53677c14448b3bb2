//! Plug-ins after kube-batch's functions (§6.7), and the policy that tiers of them make (appendix C).

mod conformance;
mod drf;
mod gang;
mod node_order;
mod predicates;
mod priority;
mod proportion;

use std::cmp::Ordering;

use crate::domain::decimal::Amount;
use crate::domain::division::{Fraction, Position};
use crate::domain::reclaim::input::{Agent, PendingMember, Workload};

pub use proportion::is_overused;

/// A running workload as plug-ins see it.
pub struct Job<'a> {
    pub workload: &'a Workload,
    /// Members that run while the plan is made.
    pub running: usize,
    pub gang_min: usize,
    pub dominant_share: Fraction,
}

/// A member that may be evicted, with its queue as it stands after the victims so far.
pub struct Reclaimee<'a> {
    pub job: Job<'a>,
    pub queue: Position<'a>,
    /// By column.
    pub slots: &'a [Amount],
}

/// Why a plug-in keeps a member: the slot and the figure that forbid it.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub rule: super::Rule,
    pub column: Option<usize>,
    pub ratio: Option<Fraction>,
}

/// What a plug-in decides; what it leaves out it has no opinion on.
pub trait Plugin: Sync {
    fn name(&self) -> &'static str;

    /// Lower is served first.
    fn queue_order(&self, _a: &Position, _b: &Position) -> Ordering {
        Ordering::Equal
    }

    /// Members, by their workloads; lower is served first.
    fn task_order(&self, _a: &Workload, _b: &Workload) -> Ordering {
        Ordering::Equal
    }

    /// Lower is served first.
    fn job_order(&self, _a: &Job, _b: &Job) -> Ordering {
        Ordering::Equal
    }

    /// The score of an agent by the free part of it; the highest is chosen.
    fn node_order(&self, _free: Fraction, _spread: bool) -> Fraction {
        Fraction::ZERO
    }

    fn predicate(&self, _member: &PendingMember, _agent: &Agent) -> bool {
        true
    }

    /// Whether the member may be evicted; `None` abstains.
    fn reclaimable(&self, _reclaimee: &Reclaimee) -> Option<Result<(), Kept>> {
        None
    }

    /// Siblings' figures of the score order (§5), the lowest scores highest; `None`: not part of the score.
    fn queue_score_order(&self, _queue: &Position) -> Option<f64> {
        None
    }
}

/// A new plug-in is a new file and a line here.
static PLUGINS: [&dyn Plugin; 7] = [
    &priority::Priority,
    &drf::Drf,
    &proportion::Proportion,
    &gang::Gang,
    &conformance::Conformance,
    &node_order::NodeOrder,
    &predicates::Predicates,
];

pub fn plugin(name: &str) -> Option<&'static dyn Plugin> {
    PLUGINS.into_iter().find(|p| p.name() == name)
}

pub fn plugin_names() -> impl Iterator<Item = &'static str> {
    PLUGINS.into_iter().map(Plugin::name)
}

/// Whether every plug-in lets the member run on the agent.
pub fn admits(plugins: &[&'static dyn Plugin], member: &PendingMember, agent: &Agent) -> bool {
    plugins.iter().all(|plugin| plugin.predicate(member, agent))
}
