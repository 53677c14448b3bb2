//! Which running workloads may lose anything at all (DIVISION §6.4), whatever a policy says.

use crate::division::Fraction;
use crate::reclaim::outcome::Rule;
use crate::reclaim::policy::{Denied, Policy};
use crate::reclaim::snapshot::{Job, Snapshot};
use crate::time::MICROS_PER_SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// From other queues.
    Reclaim,
    /// From lower priorities of the same queue.
    Preempt,
}

/// How much of a workload may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Nothing,
    /// A gang keeps its minimum.
    Surplus,
    All,
}

impl Extent {
    /// How many of a workload's first members do not go one by one: they go as a whole, or stay.
    pub fn core(self, policy: &dyn Policy, known: &Job) -> usize {
        if self == Self::Surplus || policy.keeps_gangs_whole() { known.core } else { 0 }
    }
}

pub struct Protections<'a> {
    snapshot: &'a Snapshot<'a>,
    mode: Mode,
    /// By queue: the non-reclaimable queue that it is in.
    kept_by: Vec<Option<usize>>,
    /// By queue: the queue that sets the minimum runtime, and its seconds.
    min_runtime: Vec<Option<(usize, u64)>>,
}

impl<'a> Protections<'a> {
    pub fn new(snapshot: &'a Snapshot<'a>, mode: Mode) -> Self {
        let tree = snapshot.tree;
        let mut kept_by = vec![None; tree.len()];
        let mut upwards: Vec<Option<(usize, u64)>> = vec![None; tree.len()];
        for queue in tree.top_down().iter().copied() {
            let known = &tree.queues[queue];
            let own = match mode {
                Mode::Reclaim => known.reclaim_min_runtime,
                Mode::Preempt => known.preempt_min_runtime,
            };
            upwards[queue] = own.map(|seconds| (queue, seconds)).or_else(|| known.parent.and_then(|p| upwards[p]));
            // Only the victim's side of the common ancestor counts: the reclaimer is in the rest as well.
            let inherits = snapshot.pairs[queue].is_some_and(|pair| pair.theirs != queue);
            let inherited = known.parent.filter(|_| inherits).and_then(|p| kept_by[p]);
            kept_by[queue] = inherited.or((!known.reclaimable).then_some(queue));
        }
        let compared = |queue: usize| match mode {
            Mode::Reclaim => snapshot.pairs[queue].map_or(queue, |pair| pair.theirs),
            Mode::Preempt => queue,
        };
        let min_runtime = (0..tree.len()).map(|queue| upwards[compared(queue)]).collect();
        Self { snapshot, mode, kept_by, min_runtime }
    }

    /// Whether the workload is a candidate, so that a refusal has to name its reason.
    pub fn concerns(&self, job: usize) -> bool {
        let own = self.snapshot.jobs[job].queue == self.snapshot.queue();
        match self.mode {
            Mode::Reclaim => !own,
            Mode::Preempt => own && self.snapshot.running[job].priority < self.snapshot.pending.priority,
        }
    }

    pub fn extent(&self, job: usize) -> Result<Extent, Denied> {
        let (workload, known) = (&self.snapshot.running[job], &self.snapshot.jobs[job]);
        let queue = known.queue;
        if !workload.preemptible {
            return Err(Denied::plain(Rule::NonPreemptible, queue));
        }
        if workload.critical {
            return Err(Denied::plain(Rule::Critical, queue));
        }
        if let Some(level) = self.kept_by[queue] {
            return Err(Denied::plain(Rule::NotReclaimable, level));
        }
        let (Some((level, seconds)), Some(started)) = (self.min_runtime[queue], workload.started_at) else {
            return Ok(Extent::All);
        };
        let age = u128::try_from(self.snapshot.now.micros() - started.micros()).unwrap_or(0);
        let least = u128::from(seconds) * u128::from(MICROS_PER_SECOND.unsigned_abs());
        if age >= least {
            return Ok(Extent::All);
        }
        if known.members.len() > known.core {
            return Ok(Extent::Surplus);
        }
        Err(Denied { theirs: Some(Fraction::new(age, least)), ..Denied::plain(Rule::MinRuntime, level) })
    }
}
