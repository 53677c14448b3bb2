//! Kernels as the workloads that a reclaim plan moves: a gang, or the kernels of one session (§6.4).

use std::sync::Arc;

use hashbrown::HashMap;
use uuid::Uuid;

use super::demand::Portion;
use crate::domain::ids::ProjectId;
use crate::domain::kernel::{Kernel, Phase, Traits};
use crate::domain::reclaim::{RunningMember, Workload};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// A kernel that runs or waits, as far as plans need it.
#[derive(Clone, Debug)]
pub struct LiveKernel {
    pub id: Uuid,
    pub session: Uuid,
    pub project: ProjectId,
    pub queue: Option<String>,
    pub phase: Phase,
    pub priority: i32,
    pub preemptible: bool,
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
    pub agent_id: Option<String>,
    pub started_at: Option<Timestamp>,
    pub slots: Amounts,
}

impl LiveKernel {
    /// `None`: it neither runs nor waits.
    pub fn of(kernel: &Kernel) -> Option<Self> {
        let report = &kernel.report;
        let Traits { agent_id, queue, priority, preemptible, critical, gang_id, gang_min } = report.traits.clone();
        report.phase.is_live().then(|| Self {
            id: report.id.0,
            session: report.session.0,
            project: report.owner.project,
            queue,
            phase: report.phase,
            priority,
            preemptible,
            critical,
            gang_id,
            gang_min,
            agent_id,
            started_at: report.started_at,
            slots: report.slots.clone(),
        })
    }

    pub fn portion(&self) -> Portion<'_> {
        let Self { project, phase, preemptible, ref slots, .. } = *self;
        Portion { queue: self.queue.as_deref(), project, phase, preemptible, slots }
    }

    fn workload(&self) -> String {
        self.gang_id.clone().unwrap_or_else(|| self.session.to_string())
    }
}

/// What of a group runs and waits, by workload.
#[derive(Clone, Debug, Default)]
pub struct Workloads {
    pub running: Vec<Workload>,
    /// By workload: what its pending kernels ask for, by queue.
    pub waiting: HashMap<String, Vec<(Arc<str>, Amounts)>>,
}

impl Workloads {
    /// `kernels` by id. A gang that is spread over queues is one workload in each of them.
    pub fn of(kernels: &[Arc<LiveKernel>], queue_of: impl Fn(&LiveKernel) -> Arc<str>) -> Self {
        let mut found = Self::default();
        let mut places: HashMap<(String, Arc<str>), usize> = HashMap::new();
        let mut members: Vec<Vec<&LiveKernel>> = Vec::new();
        for kernel in kernels {
            let (id, queue) = (kernel.workload(), queue_of(kernel));
            if kernel.phase == Phase::Pending {
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
            // The members that have run longest are the gang's core.
            kernels.sort_by_key(|k| (k.started_at, k.id));
            gather(workload, &kernels);
        }
        found
    }
}

fn first(id: &str, queue: Arc<str>, kernel: &LiveKernel) -> Workload {
    Workload {
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

/// One member that may not go keeps the workload; the highest priority counts, the first start is its age and the
/// last one begins its minimum runtime.
fn gather(workload: &mut Workload, kernels: &[&LiveKernel]) {
    workload.priority = kernels.iter().map(|k| k.priority).max().unwrap_or(workload.priority);
    workload.preemptible = kernels.iter().all(|k| k.preemptible);
    workload.critical = kernels.iter().any(|k| k.critical);
    workload.created_at = kernels.iter().filter_map(|k| k.started_at).min();
    workload.started_at = kernels.iter().filter_map(|k| k.started_at).max();
    workload.gang_min = kernels.iter().filter_map(|k| k.gang_min).max();
    workload.members = kernels
        .iter()
        .map(|k| RunningMember {
            kernel_id: Arc::from(k.id.to_string()),
            slots: k.slots.clone(),
            agent_id: k.agent_id.as_deref().map(Arc::from),
        })
        .collect();
}
