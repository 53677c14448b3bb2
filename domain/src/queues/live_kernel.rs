//! A kernel that has not ended, reduced to what queues, plans and workloads need.

use uuid::Uuid;

use super::demand::DemandPortion;
use crate::ids::{KernelKey, Member};
use crate::kernel::{Kernel, KernelPhase, KernelTraits};
use crate::kernel_agents::{AgentPart, KernelAgents};
use crate::placement_rules::PlacementRules;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// A kernel that runs, is suspended or waits; or one that has ended, as a member of its workload.
#[derive(Clone, Debug)]
pub struct LiveKernel {
    /// Kernels of a group ascend by it as they became known.
    pub key: Option<KernelKey>,
    pub id: Uuid,
    pub session: Uuid,
    pub owner: Member,
    pub queue: Option<String>,
    pub phase: KernelPhase,
    pub priority: i32,
    pub preemptible: bool,
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
    pub agents: KernelAgents,
    pub started_at: Option<Timestamp>,
    pub submitted_at: Option<Timestamp>,
    /// The time of the first report; `None`: unknown.
    pub reported_at: Option<Timestamp>,
    pub expected_seconds: Option<u32>,
    /// The class by which its usage is charged, if a report contained one.
    pub charge_class: Option<String>,
    /// The rules of its place; absent for most kernels.
    pub rules: Option<Box<PlacementRules>>,
    pub slots: SlotAmounts,
}

impl LiveKernel {
    /// `None` if the kernel has ended.
    pub fn of(kernel: &Kernel) -> Option<Self> {
        let report = &kernel.report;
        let KernelTraits { agents, queue, priority, preemptible, critical, gang_id, gang_min } = report.traits.clone();
        let has_ended = matches!(report.phase, KernelPhase::Unknown | KernelPhase::Terminated);
        (!has_ended).then(|| Self {
            key: kernel.key,
            id: report.id.0,
            session: report.session.0,
            owner: report.owner,
            queue,
            phase: report.phase,
            priority,
            preemptible,
            critical,
            gang_id,
            gang_min,
            agents,
            started_at: report.started_at,
            submitted_at: report.submitted_at,
            reported_at: kernel.reported_at,
            expected_seconds: report.expected_seconds,
            charge_class: report.charge_class.clone(),
            rules: report.rules.clone(),
            slots: report.slots.clone(),
        })
    }

    /// The kernel as its parts, one on each of its agents. Whatever looks at the place of a kernel looks at these.
    pub fn parts(&self) -> impl Iterator<Item = AgentPart<'_>> {
        self.agents.parts(&self.slots)
    }

    pub fn portion(&self) -> DemandPortion<'_> {
        let Self { owner, phase, preemptible, ref slots, .. } = *self;
        DemandPortion { queue: self.queue.as_deref(), project: owner.project, phase, preemptible, slots }
    }

    /// The workload of the kernel: its gang, otherwise its session.
    pub fn workload(&self) -> String {
        self.gang_id.clone().unwrap_or_else(|| self.session.to_string())
    }
}
