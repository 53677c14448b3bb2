//! The running and pending workloads of a snapshot, and the agents that they run on. Reclaim plans are made from this.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::snapshot_data::GroupSnapshotData;
use crate::domain::decimal::Amount;
use crate::domain::division::{DivisionResult, DivisionTrace, DivisionWarning, QueueTree, lint, live_tree};
use crate::domain::fault::Fault;
use crate::domain::queues::QueueDemand;
use crate::domain::reclaim::{GroupWorkloads, PendingGang, ReclaimAgent, ReclaimInput, ReclaimPlan, plan};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::engine::error::{Error, Result};
use crate::engine::group::live_kernels::LiveKernelList;
use crate::store;

/// Running workloads, pending workloads and agents.
#[derive(Debug)]
pub struct ClusterSnapshot {
    tree: QueueTree,
    shares: DivisionResult,
    workloads: GroupWorkloads,
    /// The agents; `None`: plans compare totals only, not places on agents.
    agents: Option<Vec<ReclaimAgent>>,
    warnings: Vec<DivisionWarning>,
}

impl ClusterSnapshot {
    pub fn of(facts: &GroupSnapshotData, kernels: &LiveKernelList) -> Result<Self> {
        let mut demand = QueueDemand::default();
        for kernel in kernels.iter() {
            demand.add(kernel.portion());
        }
        let tree = live_tree(&facts.queues, &facts.capacity, &facts.observed(&demand)).map_err(Error::not_divisible)?;
        let choice = &facts.options.division;
        let shares = choice.algorithm().divide(&tree, &choice.options, &mut DivisionTrace::off());
        let mut names: BTreeMap<&str, Arc<str>> = BTreeMap::new();
        names.extend(tree.queues.iter().map(|q| (&*q.name, Arc::clone(&q.name))));
        let workloads = GroupWorkloads::of(kernels, |kernel| {
            let name = facts.queue_of(kernel.queue.as_deref(), kernel.owner.project);
            names.get(name).map_or_else(|| Arc::from(name), Arc::clone)
        });
        let agents = &facts.agents;
        let lost = workloads.running.iter().flat_map(|w| &w.members).filter(|m| m.agent_id.is_none()).count();
        let mut warnings = [lint(&tree, choice.algorithm(), &choice.options), shares.warnings.clone()].concat();
        if lost > 0 && !agents.is_empty() {
            // The free capacity of each agent is not known then.
            warnings.push(warn_of_unplaced(lost));
        }
        let agents = (lost == 0 && !agents.is_empty()).then(|| agents.iter().map(node).collect());
        Ok(Self { tree, shares, workloads, agents, warnings })
    }

    /// Makes a plan for one workload. If kernels of its id are pending, their demand is not counted twice.
    pub fn plan(
        &self,
        facts: &GroupSnapshotData,
        pending: &PendingGang,
        now: Timestamp,
    ) -> std::result::Result<ReclaimPlan, Vec<Fault>> {
        let choice = &facts.options.division;
        let asking = self.with_request(pending);
        let divided =
            asking.as_ref().map(|tree| choice.algorithm().divide(tree, &choice.options, &mut DivisionTrace::off()));
        let (tree, shares) = asking.as_ref().zip(divided.as_ref()).unwrap_or((&self.tree, &self.shares));
        let mut plan = plan(&ReclaimInput {
            tree,
            fair_share: &shares.fair_share,
            running: &self.workloads.running,
            pending,
            agents: self.agents.as_deref(),
            options: &choice.plan,
            now,
        })?;
        plan.warnings.extend(self.warnings.iter().cloned());
        Ok(plan)
    }

    /// The tree in which the demand of `pending` replaces that of pending kernels of the same id; `None`: both are equal.
    fn with_request(&self, pending: &PendingGang) -> Option<QueueTree> {
        let tree = &self.tree;
        let queue = tree.find(&pending.queue)?;
        let mut request = tree.request.clone();
        let mut change = |queue: usize, slots: &SlotAmounts, by: fn(Amount, Amount) -> Amount| {
            for (slot, amount) in slots.iter() {
                let Some(column) = tree.column(slot) else { continue };
                for at in tree.ancestry(queue) {
                    request[(at, column)] = by(request[(at, column)], amount);
                }
            }
        };
        for (name, slots) in self.workloads.waiting.get(&*pending.workload_id).into_iter().flatten() {
            if let Some(waits_in) = tree.find(name) {
                change(waits_in, slots, Amount::saturating_sub);
            }
        }
        for member in &pending.members {
            change(queue, &member.slots, Amount::saturating_add);
        }
        if request == tree.request {
            return None;
        }
        let mut asking = tree.clone();
        asking.request = request;
        Some(asking)
    }
}

/// The warning about a number of running kernels of which no agent is reported.
pub fn warn_of_unplaced(kernels: usize) -> DivisionWarning {
    let detail = format!("{kernels} running kernels name no agent: only totals count, not places");
    DivisionWarning::new("unknown_agent", None, None, detail)
}

fn node(agent: &store::agents::StoredAgent) -> ReclaimAgent {
    let (available_slots, labels) = (agent.available_slots.clone(), agent.labels.clone());
    ReclaimAgent { agent_id: Arc::from(agent.agent_id.as_str()), available_slots, labels, schedulable: agent.offers() }
}
