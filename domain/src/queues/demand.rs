//! The amounts that the kernels of a group hold and ask for (DIVISION §1), summed by the claims of kernels and not by
//! queues. Queues come and go while no kernel changes, so the queue of a claim is found only when a tree is built.

use std::sync::Arc;

use crate::ids::ProjectId;
use crate::kernel::{Kernel, KernelPhase};
use crate::maps::{SharedMap, get_or_default};
use crate::slots::SlotAmounts;

/// The properties of a kernel that determine its queue: the queue that it names, and its project.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueClaim {
    pub queue: Option<Arc<str>>,
    pub project: ProjectId,
}

impl QueueClaim {
    fn of(portion: &DemandPortion) -> Self {
        Self { queue: portion.queue.map(Arc::from), project: portion.project }
    }
}

/// The sums over the kernels of one claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimSums {
    kernels: u64,
    pub allocated: SlotAmounts,
    pub allocated_non_preemptible: SlotAmounts,
    pub pending: SlotAmounts,
}

/// The part of a kernel that [`QueueDemand`] needs.
#[derive(Clone, Copy, Debug)]
pub struct DemandPortion<'a> {
    pub queue: Option<&'a str>,
    pub project: ProjectId,
    pub phase: KernelPhase,
    pub preemptible: bool,
    pub slots: &'a SlotAmounts,
}

impl<'a> DemandPortion<'a> {
    pub fn of(kernel: &'a Kernel) -> Self {
        let report = &kernel.report;
        Self {
            queue: report.traits.queue.as_deref(),
            project: report.owner.project,
            phase: report.phase,
            preemptible: report.traits.preemptible,
            slots: &report.slots,
        }
    }
}

/// Sums over the running and pending kernels of a group, kept up to date as kernels change. A copy shares its unchanged
/// parts with the original.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDemand(SharedMap<QueueClaim, ClaimSums>);

impl QueueDemand {
    pub fn add(&mut self, portion: DemandPortion) {
        if !portion.phase.is_live() {
            return;
        }
        let held = get_or_default(&mut self.0, &QueueClaim::of(&portion));
        held.kernels += 1;
        for sum in held.sums(&portion).into_iter().flatten() {
            sum.add(portion.slots);
        }
    }

    /// Subtracts a kernel that was added before.
    pub fn remove(&mut self, portion: DemandPortion) {
        let claim = QueueClaim::of(&portion);
        let Some(held) = self.0.get_mut(&claim).filter(|_| portion.phase.is_live()) else { return };
        held.kernels = held.kernels.saturating_sub(1);
        for sum in held.sums(&portion).into_iter().flatten() {
            sum.subtract(portion.slots);
        }
        if held.kernels == 0 {
            self.0.remove_mut(&claim);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&QueueClaim, &ClaimSums)> {
        self.0.iter()
    }
}

impl ClaimSums {
    fn sums(&mut self, portion: &DemandPortion) -> [Option<&mut SlotAmounts>; 2] {
        match portion.phase {
            KernelPhase::Pending => [Some(&mut self.pending), None],
            KernelPhase::Running if portion.preemptible => [Some(&mut self.allocated), None],
            KernelPhase::Running => [Some(&mut self.allocated), Some(&mut self.allocated_non_preemptible)],
            KernelPhase::Unknown | KernelPhase::Suspended | KernelPhase::Terminated => [None, None],
        }
    }
}
