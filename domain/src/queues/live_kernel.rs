//! A running or pending kernel, reduced to what queues and plans need.

use uuid::Uuid;

use super::demand::Portion;
use crate::ids::ProjectId;
use crate::kernel::{Kernel, Phase, Traits};
use crate::slots::Amounts;
use crate::time::Timestamp;

/// A running or pending kernel, reduced to what plans need.
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
    /// `None` if the kernel neither runs nor waits.
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

    /// The workload of the kernel: its gang, otherwise its session.
    pub fn workload(&self) -> String {
        self.gang_id.clone().unwrap_or_else(|| self.session.to_string())
    }
}
