//! The work of runs that needs no caller: the engine does it for the jobs, under leases.

use super::{Result, Service};
use crate::domain::fairness::PendingCounts;
use crate::domain::time::Day;
use crate::engine::accounting::compaction::CompactionResult;
use crate::engine::accounting::purge::PurgeLimits;
use crate::engine::accounting::run::AggregationResult;
use crate::engine::leases::{LeaseFence, LeaseResult, LeasedWork, ProcessPresence};

impl Service {
    /// Records what kernels have used, and calculates factors and ranks.
    pub async fn aggregate(&self, work: impl Into<LeasedWork>) -> Result<AggregationResult> {
        self.engine.aggregate(work).await
    }

    /// Writes factors, ranks and fairness of every day from `first` until yesterday, with the present weights, options and
    /// people.
    pub async fn keep_past_days(&self, group: &str, first: Day, waited: PendingCounts) -> Result<()> {
        self.engine.keep_past_days(group, first, waited).await
    }

    /// Folds all records of a group into its buckets again. Returns the number of buckets that differed.
    pub async fn rebuild(&self, work: impl Into<LeasedWork>) -> Result<u64> {
        self.engine.rebuild(work).await
    }

    /// Compacts the records of each day that ended at least `raw_days` days ago.
    pub async fn compact(&self, work: impl Into<LeasedWork>, raw_days: u32) -> Result<CompactionResult> {
        self.engine.compact(work, raw_days).await
    }

    /// Removes records that no look-back can reach any more, and buckets and day totals of days before
    /// `keep_buckets_days`. Returns the numbers of records and of buckets.
    pub async fn purge(&self, work: impl Into<LeasedWork>, keep_buckets_days: u32) -> Result<(u64, u64)> {
        self.engine.purge(work, keep_buckets_days).await
    }

    /// Removes kernels of a group that ended `keep_days` ago, except those whose records a look-back may still reach.
    /// Returns their number.
    pub async fn purge_kernels(&self, work: impl Into<LeasedWork>, keep_days: u32) -> Result<u64> {
        self.engine.purge_kernels(work, keep_days).await
    }

    /// Removes the times at which the service ran before every look-back. Returns their number.
    pub async fn purge_service_runs(&self) -> Result<u64> {
        self.engine.purge_service_runs().await
    }

    /// The days before which a purge removes rows.
    pub fn purge_limits(&self, keep_buckets_days: u32, keep_kernels_days: u32) -> PurgeLimits {
        self.engine.purge_limits(keep_buckets_days, keep_kernels_days)
    }

    /// Registers this process among those that run jobs, until the value is dropped.
    pub async fn join(&self) -> Result<ProcessPresence> {
        self.engine.join().await
    }

    /// Withdraws this process from those that run jobs.
    pub async fn leave(&self, presence: &ProcessPresence) -> Result<()> {
        self.engine.leave(presence).await
    }

    /// Takes a lease. One that is held by a dead process counts as free.
    pub async fn take_lease(&self, presence: &ProcessPresence, name: &str) -> Result<LeaseResult> {
        self.engine.take_lease(presence, name).await
    }

    pub async fn release_lease(&self, fence: &LeaseFence) -> Result<()> {
        self.engine.release_lease(fence).await
    }

    /// Closes the records of runs whose process is dead. Returns their number.
    pub async fn close_abandoned_runs(&self, presence: &ProcessPresence) -> Result<u64> {
        self.engine.close_abandoned_runs(presence).await
    }
}
