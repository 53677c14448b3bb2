//! Scheduled tasks: a runner, and one file for each job. A job takes no input, scans in full, and
//! can be run by hand at any time. A new job is one file here and one line in [`all`].

mod aggregate;
mod compact;
mod divide;
mod purge;
mod rebuild;
mod runner;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::domain::time::Timestamp;
use crate::service::{KEEP_BUCKETS_DAYS, Result, Service, VisibleGroup, Work};

pub use runner::Runner;

/// What the jobs need to know besides the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// Days for which buckets are kept, at least the longest look-back.
    pub keep_buckets_days: u32,
    /// Days for which the audit log keeps what it counts of ingests.
    pub keep_audit_days: u32,
    /// Days for which ended kernels are kept; 0: the longest look-back and a week.
    pub keep_kernels_days: u32,
    /// Days for which the history of fairness, factors and ranks is kept.
    pub keep_history_days: u32,
    /// Days for which usage records stay as runs made them.
    pub raw_days: u32,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            keep_buckets_days: KEEP_BUCKETS_DAYS,
            keep_audit_days: 90,
            keep_kernels_days: 0,
            keep_history_days: 400,
            raw_days: 3,
        }
    }
}

/// A task over one resource group.
trait Job: Send + Sync {
    fn name(&self) -> &'static str;

    fn description(&self) -> &'static str;

    /// Whether the schedule wants a run at `now`; `last` is the start of the last one.
    fn is_due(&self, group: &VisibleGroup, last: Option<Timestamp>, now: Timestamp) -> bool;

    /// Does the work; the answer counts what was done.
    fn run(&self, service: Arc<Service>, work: Work) -> BoxFuture<'static, Result<Value>>;
}

fn all(settings: JobSettings) -> Vec<Arc<dyn Job>> {
    vec![
        Arc::new(aggregate::Aggregate),
        Arc::new(divide::Divide),
        Arc::new(rebuild::Rebuild),
        Arc::new(compact::Compact { settings }),
        Arc::new(purge::Purge { settings }),
    ]
}

/// The names of all jobs and what each does.
pub fn described() -> Vec<(&'static str, &'static str)> {
    all(JobSettings::default()).iter().map(|job| (job.name(), job.description())).collect()
}

/// Whether `seconds` have passed since `last`; a clock that jumped back does not stop a job.
fn elapsed(last: Option<Timestamp>, now: Timestamp, seconds: i64) -> bool {
    last.is_none_or(|last| (now.micros() - last.micros()).abs() >= seconds * crate::domain::time::MICROS_PER_SECOND)
}
