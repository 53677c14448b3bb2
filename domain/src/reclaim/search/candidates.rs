//! Finds the running workloads that may lose anything at all (DIVISION §6.4). These rules hold under every policy.

use crate::division::Fraction;
use crate::reclaim::outcome::ReclaimRule;
use crate::reclaim::policy::{EvictionDenial, EvictionPolicy};
use crate::reclaim::snapshot::{ReclaimSnapshot, SnapshotWorkload};
use crate::time::MICROS_PER_SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionMode {
    /// Victims come from other queues.
    Reclaim,
    /// Victims have a lower priority and are in the same queue.
    Preempt,
}

/// The part of a workload that may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionExtent {
    Nothing,
    /// Only members above the minimum of the gang.
    Surplus,
    All,
}

impl EvictionExtent {
    /// The number of first members that are evicted together or stay together; the other members are evicted one by
    /// one.
    pub fn core(self, policy: &dyn EvictionPolicy, known: &SnapshotWorkload) -> usize {
        if self == Self::Surplus || policy.keeps_gangs_whole() { known.core } else { 0 }
    }
}

pub struct WorkloadProtections<'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    mode: EvictionMode,
    /// By queue: the non-reclaimable queue that protects it.
    kept_by: Vec<Option<usize>>,
    /// By queue: the queue that sets the minimum runtime, and the runtime in seconds.
    min_runtime: Vec<Option<(usize, u64)>>,
}

impl<'a> WorkloadProtections<'a> {
    pub fn new(snapshot: &'a ReclaimSnapshot<'a>, mode: EvictionMode) -> Self {
        let tree = snapshot.tree;
        let mut kept_by = vec![None; tree.len()];
        let mut upwards: Vec<Option<(usize, u64)>> = vec![None; tree.len()];
        for queue in tree.top_down().iter().copied() {
            let known = &tree.queues[queue];
            let own = match mode {
                EvictionMode::Reclaim => known.reclaim_min_runtime,
                EvictionMode::Preempt => known.preempt_min_runtime,
            };
            upwards[queue] = own.map(|seconds| (queue, seconds)).or_else(|| known.parent.and_then(|p| upwards[p]));
            // Only queues on the victim's side of the common ancestor protect it, because the reclaimer belongs to the
            // queues above too.
            let inherits = snapshot.pairs[queue].is_some_and(|pair| pair.theirs != queue);
            let inherited = known.parent.filter(|_| inherits).and_then(|p| kept_by[p]);
            kept_by[queue] = inherited.or((!known.reclaimable).then_some(queue));
        }
        let compared = |queue: usize| match mode {
            EvictionMode::Reclaim => snapshot.pairs[queue].map_or(queue, |pair| pair.theirs),
            EvictionMode::Preempt => queue,
        };
        let min_runtime = (0..tree.len()).map(|queue| upwards[compared(queue)]).collect();
        Self { snapshot, mode, kept_by, min_runtime }
    }

    /// True if the workload is a candidate in this mode, so that a refusal has to name the rule that forbade it.
    pub fn may_take(&self, job: usize) -> bool {
        let own = self.snapshot.jobs[job].queue == self.snapshot.queue();
        match self.mode {
            EvictionMode::Reclaim => !own,
            // Running members of the pending workload itself make no room for its others.
            EvictionMode::Preempt => {
                let (workload, pending) = (&self.snapshot.running[job], self.snapshot.pending);
                own && workload.priority < pending.priority && workload.workload_id != pending.workload_id
            }
        }
    }

    pub fn extent(&self, job: usize) -> Result<EvictionExtent, EvictionDenial> {
        let (workload, known) = (&self.snapshot.running[job], &self.snapshot.jobs[job]);
        let queue = known.queue;
        if !workload.preemptible {
            return Err(EvictionDenial::plain(ReclaimRule::NonPreemptible, queue));
        }
        if workload.critical {
            return Err(EvictionDenial::plain(ReclaimRule::Critical, queue));
        }
        if let Some(level) = self.kept_by[queue] {
            return Err(EvictionDenial::plain(ReclaimRule::NotReclaimable, level));
        }
        let (Some((level, seconds)), Some(started)) = (self.min_runtime[queue], workload.started_at) else {
            return Ok(EvictionExtent::All);
        };
        let age = u128::try_from(self.snapshot.now.micros() - started.micros()).unwrap_or(0);
        let least = u128::from(seconds) * u128::from(MICROS_PER_SECOND.unsigned_abs());
        if age >= least {
            return Ok(EvictionExtent::All);
        }
        if known.members.len() > known.core {
            return Ok(EvictionExtent::Surplus);
        }
        Err(EvictionDenial {
            theirs: Some(Fraction::new(age, least)),
            ..EvictionDenial::plain(ReclaimRule::MinRuntime, level)
        })
    }
}
