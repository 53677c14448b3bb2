//! The running workloads of a cycle as victims of plans. What the cycle evicts is taken out, so that no plan counts on it
//! again; what it starts never comes in.

use std::sync::Arc;

use super::request::workloads::{CycleAgent, CycleRunning};
use crate::division::QueueTree;
use crate::fault::Fault;
use crate::maps::FastMap;
use crate::placement_rules::Labels;
use crate::reclaim::input::count_kernels;
use crate::reclaim::snapshot::{EvictionUnit, RunningIndex};
use crate::reclaim::{ReclaimAgent, RunningWorkload};
use crate::slots::SlotAmounts;

pub struct RunningState<'a> {
    pub workloads: Vec<RunningWorkload>,
    queues: Vec<usize>,
    /// By workload: the members that still run, by their place in the request.
    seats: Vec<Vec<usize>>,
    pub index: Arc<RunningIndex>,
    /// Absent where only totals count. Only their number and their ids matter to plans.
    pub agents: Option<Vec<ReclaimAgent>>,
    names: FastMap<&'a str, usize>,
}

impl<'a> RunningState<'a> {
    /// The state before the cycle. `agents` are ordered by id.
    pub fn new(
        tree: &QueueTree,
        running: &'a [CycleRunning],
        queues: Vec<usize>,
        agents: Option<&[&'a CycleAgent]>,
    ) -> Result<Self, Vec<Fault>> {
        let names: FastMap<&str, usize> =
            agents.unwrap_or_default().iter().enumerate().map(|(at, agent)| (&*agent.agent_id, at)).collect();
        let workloads: Vec<RunningWorkload> = running.iter().map(workload).collect();
        let index = RunningIndex::new(tree, &workloads, &queues, agents.map(|_| &names));
        index.check_changes()?;
        Ok(Self {
            seats: workloads.iter().map(|workload| (0..workload.members.len()).collect()).collect(),
            workloads,
            queues,
            index: Arc::new(index),
            agents: agents.map(|agents| agents.iter().map(|agent| bare(agent)).collect()),
            names,
        })
    }

    /// By workload.
    pub fn queues(&self) -> &[usize] {
        &self.queues
    }

    /// How many kernels of a workload still run.
    pub fn count(&self, workload: usize) -> usize {
        count_kernels(&self.workloads[workload].members)
    }

    /// The members of a unit, as (workload, member) by their places in the request.
    pub fn seats(&self, unit: &EvictionUnit) -> Vec<(usize, usize)> {
        let first = self.index.jobs[unit.job].members.start;
        unit.members.clone().map(|member| (unit.job, self.seats[unit.job][member - first])).collect()
    }

    /// Takes members out for good.
    pub fn evict(&mut self, tree: &QueueTree, members: &[(usize, usize)]) {
        for (workload, member) in members {
            if let Some(at) = self.seats[*workload].iter().position(|seat| seat == member) {
                self.seats[*workload].remove(at);
                self.workloads[*workload].members.remove(at);
            }
        }
        let names = self.agents.as_ref().map(|_| &self.names);
        self.index = Arc::new(RunningIndex::new(tree, &self.workloads, &self.queues, names));
    }
}

fn workload(running: &CycleRunning) -> RunningWorkload {
    RunningWorkload {
        workload_id: Arc::clone(&running.workload_id),
        queue: running.queue.clone().unwrap_or_default(),
        priority: running.priority,
        preemptible: running.preemptible,
        critical: running.critical,
        created_at: running.created_at,
        started_at: running.started_at,
        gang_min: running.gang_min,
        members: running.members.clone(),
    }
}

fn bare(agent: &CycleAgent) -> ReclaimAgent {
    ReclaimAgent {
        agent_id: Arc::clone(&agent.agent_id),
        available_slots: SlotAmounts::default(),
        labels: Labels::new(),
        schedulable: true,
    }
}
