//! The pending jobs, by owner.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::history::TraceJob;
use super::policy::ReplayPolicy;
use crate::slots::SlotAmounts;

/// The order of one owner's jobs.
#[derive(Clone, Copy, Debug)]
enum OwnerJobs {
    Oldest,
    Latest,
    /// The highest priority first, then the oldest.
    Priority,
}

/// The pending jobs. Jobs are identified by their numbers, which ascend by submission, then id.
#[derive(Debug)]
pub struct PendingJobs {
    own: OwnerJobs,
    by_owner: BTreeMap<u32, BTreeSet<(Reverse<i32>, u32)>>,
    /// The number of jobs of each size.
    sizes: BTreeMap<u32, u32>,
    /// The sum of the requests.
    total: SlotAmounts,
}

impl PendingJobs {
    pub fn new(policy: &ReplayPolicy) -> Self {
        let own = if policy.progressive().is_some() {
            OwnerJobs::Priority
        } else if policy.sequencer.latest_first() {
            OwnerJobs::Latest
        } else {
            OwnerJobs::Oldest
        };
        Self { own, by_owner: BTreeMap::new(), sizes: BTreeMap::new(), total: SlotAmounts::default() }
    }

    fn entry(&self, number: u32, job: &TraceJob) -> (Reverse<i32>, u32) {
        (Reverse(if matches!(self.own, OwnerJobs::Priority) { job.priority } else { 0 }), number)
    }

    pub fn put(&mut self, number: u32, job: &TraceJob, size: &SlotAmounts) {
        let entry = self.entry(number, job);
        self.by_owner.entry(job.owner).or_default().insert(entry);
        *self.sizes.entry(job.size).or_default() += 1;
        self.total.add(size);
    }

    pub fn remove(&mut self, number: u32, job: &TraceJob, size: &SlotAmounts) {
        self.total.subtract(size);
        let entry = self.entry(number, job);
        if let Some(own) = self.by_owner.get_mut(&job.owner) {
            own.remove(&entry);
            if own.is_empty() {
                self.by_owner.remove(&job.owner);
            }
        }
        if let Some(count) = self.sizes.get_mut(&job.size) {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&job.size);
            }
        }
    }

    /// The sum of what all pending jobs ask for.
    pub fn total(&self) -> &SlotAmounts {
        &self.total
    }

    pub fn is_empty(&self) -> bool {
        self.by_owner.is_empty()
    }

    /// The sizes of the pending jobs.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.keys().copied()
    }

    /// The next job of each owner among those that could start. The first job of all is among them.
    pub fn heads(&self, could_start: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let head = move |own: &BTreeSet<(Reverse<i32>, u32)>| {
            let mut numbers = own.iter().map(|(_, number)| *number);
            let could_start = |number: &u32| could_start(*number);
            if matches!(self.own, OwnerJobs::Latest) { numbers.rfind(could_start) } else { numbers.find(could_start) }
        };
        self.by_owner.values().filter_map(head)
    }

    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_owner.values().flatten().map(|(_, number)| *number)
    }
}
