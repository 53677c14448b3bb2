//! Plug-ins modelled on kube-batch's functions (DIVISION §6.7). A plug-in is one file here and one line in [`PLUGINS`].

mod conformance;
mod drf;
mod gang;
mod node_order;
mod predicates;
mod priority;
mod proportion;

use std::cmp::Ordering;

use crate::choices::NamedChoice;
use crate::decimal::Amount;
use crate::division::{Fraction, QueueAllocation};
use crate::fault::{Fault, MAX_FAULTS};
use crate::reclaim::input::{PendingMember, ReclaimAgent, RunningWorkload};
use crate::reclaim::outcome::ReclaimRule;

/// A running workload as plug-ins see it.
pub struct PluginJob<'a> {
    pub workload: &'a RunningWorkload,
    /// The number of members that still run in the current state of the plan.
    pub running: usize,
    pub gang_min: usize,
    pub dominant_share: Fraction,
}

/// A member that may be evicted, with its queue after the victims so far.
pub struct Reclaimee<'a> {
    pub job: PluginJob<'a>,
    pub queue: QueueAllocation<'a>,
    /// The amounts that the member holds, by column.
    pub slots: &'a [Amount],
}

/// The reason why a plug-in forbids something, with the slot and the figure that show it.
#[derive(Clone, Copy, Debug)]
pub struct PluginDenial {
    pub rule: ReclaimRule,
    pub column: Option<usize>,
    pub ratio: Option<Fraction>,
}

/// The decisions of a plug-in. A method that it does not implement has no influence.
pub trait ReclaimPlugin: Sync {
    fn name(&self) -> &'static str;

    /// The plug-in's decision, in one sentence.
    fn summary(&self) -> &'static str;

    /// True if the plug-in chooses agents. It then does so under every policy.
    fn chooses_agents(&self) -> bool {
        false
    }

    /// Checks that the queue of the pending workload may reclaim at all.
    fn gate(&self, _reclaimer: &QueueAllocation) -> Result<(), PluginDenial> {
        Ok(())
    }

    /// The order of queues: the lower one is served first.
    fn queue_order(&self, _a: &QueueAllocation, _b: &QueueAllocation) -> Ordering {
        Ordering::Equal
    }

    /// The order of members, compared by their workloads: the lower one is served first.
    fn task_order(&self, _a: &RunningWorkload, _b: &RunningWorkload) -> Ordering {
        Ordering::Equal
    }

    /// The order of workloads: the lower one is served first.
    fn job_order(&self, _a: &PluginJob, _b: &PluginJob) -> Ordering {
        Ordering::Equal
    }

    /// The score of an agent, whose free part is `free` (0 to 1). The agent with the highest score is chosen.
    fn node_order(&self, _free: Fraction, _spread: bool) -> Fraction {
        Fraction::ZERO
    }

    fn predicate(&self, _member: &PendingMember, _agent: &ReclaimAgent) -> bool {
        true
    }

    /// Allows or denies the eviction of a member; `None` abstains.
    fn reclaimable(&self, _reclaimee: &Reclaimee) -> Option<Result<(), PluginDenial>> {
        None
    }

    /// The figure of a queue for the score order (DIVISION §5), in which the lowest figure scores highest; `None` if
    /// the plug-in takes no part in the score.
    fn queue_score_order(&self, _queue: &QueueAllocation) -> Option<f64> {
        None
    }
}

/// All plug-ins. A new one is a new file and a line here.
static PLUGINS: &[&dyn ReclaimPlugin] = &[
    &priority::PriorityPlugin,
    &drf::DrfPlugin,
    &proportion::ProportionPlugin,
    &gang::GangPlugin,
    &conformance::ConformancePlugin,
    &node_order::NodeOrderPlugin,
    &predicates::PredicatesPlugin,
];

pub fn plugin(name: &str) -> Option<&'static dyn ReclaimPlugin> {
    PLUGINS.iter().copied().find(|p| p.name() == name)
}

/// All plug-ins, each with its sentence.
pub fn plugin_choices() -> Vec<NamedChoice> {
    PLUGINS.iter().map(|plugin| NamedChoice { name: plugin.name(), summary: plugin.summary() }).collect()
}

pub fn plugin_names() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|p| p.name())
}

/// The plug-ins that choose agents under every policy.
pub fn choosing_agents() -> impl Iterator<Item = &'static dyn ReclaimPlugin> {
    PLUGINS.iter().copied().filter(|plugin| plugin.chooses_agents())
}

/// Names in the option `tiers` that no plug-in has, as faults.
pub fn unknown_names(tiers: &[Vec<String>]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (tier, names) in tiers.iter().enumerate() {
        for (at, name) in names.iter().enumerate().filter(|(_, name)| plugin(name).is_none()) {
            let known = plugin_names().collect::<Vec<_>>().join(", ");
            let detail = format!("there is no plug-in {name:?}; known are {known}");
            faults.push(Fault::new(format!("/options/tiers/{tier}/{at}"), "unknown_plugin", detail));
        }
    }
    faults.truncate(MAX_FAULTS);
    faults
}

/// True if every plug-in lets the member run on the agent.
pub fn admits(plugins: &[&'static dyn ReclaimPlugin], member: &PendingMember, agent: &ReclaimAgent) -> bool {
    plugins.iter().all(|plugin| plugin.predicate(member, agent))
}
