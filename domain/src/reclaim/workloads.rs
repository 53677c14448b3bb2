//! Groups kernels into the workloads that a plan moves: a gang, or the kernels of one session (DIVISION §6.4).

use std::sync::Arc;

use hashbrown::HashMap;

use super::input::{RunningMember, RunningWorkload};
use crate::kernel::KernelPhase;
use crate::queues::LiveKernel;
use crate::slots::SlotAmounts;

/// The running and pending workloads of a group.
#[derive(Clone, Debug, Default)]
pub struct GroupWorkloads {
    pub running: Vec<RunningWorkload>,
    /// By workload: the requests of its pending kernels, each with its queue.
    pub waiting: HashMap<String, Vec<(Arc<str>, SlotAmounts)>>,
}

impl GroupWorkloads {
    /// Groups `kernels`, which are ordered by id. A gang that is spread over several queues is one workload in each of
    /// them.
    pub fn of(kernels: &[Arc<LiveKernel>], queue_of: impl Fn(&LiveKernel) -> Arc<str>) -> Self {
        let mut found = Self::default();
        let mut places: HashMap<(String, Arc<str>), usize> = HashMap::new();
        let mut members: Vec<Vec<&LiveKernel>> = Vec::new();
        // A suspended kernel holds nothing that a plan could free.
        for kernel in kernels.iter().filter(|kernel| kernel.phase.is_live()) {
            let (id, queue) = (kernel.workload(), queue_of(kernel));
            if kernel.phase == KernelPhase::Pending {
                let waits = found.waiting.entry(id).or_default();
                match waits.iter_mut().find(|(name, _)| *name == queue) {
                    Some((_, sum)) => sum.add(&kernel.slots),
                    None => waits.push((queue, kernel.slots.clone())),
                }
                continue;
            }
            let place = *places.entry((id, Arc::clone(&queue))).or_insert_with_key(|(id, _)| {
                found.running.push(first(id, queue, kernel));
                members.push(Vec::new());
                members.len() - 1
            });
            members[place].push(kernel);
        }
        for (workload, mut kernels) in found.running.iter_mut().zip(members) {
            // The members that have run longest become the core of the gang.
            kernels.sort_by_key(|k| (k.started_at, k.id));
            set_from_kernels(workload, &kernels);
        }
        found
    }
}

fn first(id: &str, queue: Arc<str>, kernel: &LiveKernel) -> RunningWorkload {
    RunningWorkload {
        workload_id: Arc::from(id),
        queue,
        priority: kernel.priority,
        preemptible: true,
        critical: false,
        created_at: None,
        started_at: None,
        gang_min: None,
        members: Vec::new(),
    }
}

/// Sets the values of a workload from its kernels. It is preemptible only if all kernels are, and critical if one is.
/// The highest priority counts. The first start is its age, and the last start begins its minimum runtime.
fn set_from_kernels(workload: &mut RunningWorkload, kernels: &[&LiveKernel]) {
    workload.priority = kernels.iter().map(|k| k.priority).max().unwrap_or(workload.priority);
    workload.preemptible = kernels.iter().all(|k| k.preemptible);
    workload.critical = kernels.iter().any(|k| k.critical);
    workload.created_at = kernels.iter().filter_map(|k| k.started_at).min();
    workload.started_at = kernels.iter().filter_map(|k| k.started_at).max();
    workload.gang_min = kernels.iter().filter_map(|k| k.gang_min).max();
    workload.members = kernels.iter().copied().flat_map(running_members).collect();
}

/// The kernel as members of its workload: one on each of its agents.
pub fn running_members(kernel: &LiveKernel) -> impl Iterator<Item = RunningMember> {
    let kernel_id: Arc<str> = Arc::from(kernel.id.to_string());
    kernel.parts().map(move |part| RunningMember {
        kernel_id: Arc::clone(&kernel_id),
        slots: part.slots.into_owned(),
        agent_id: part.agent.map(Arc::from),
    })
}
