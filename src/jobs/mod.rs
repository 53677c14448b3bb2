//! Scheduled jobs: the runner, the trigger that wakes it, and one file for each job. A job takes no input, scans all data of
//! its group, and can be run by hand at any time. A new job is one file here, one line in [`all`], and a setting for its
//! schedule.

mod aggregate;
mod compact;
mod divide;
mod purge;
mod rebuild;
mod runner;
mod trigger;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::domain::job_schedule::JobSchedule;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::{KEEP_BUCKETS_DAYS, Result, Service, VisibleGroup, Work};

pub use runner::Runner;

/// The schedule of each job; `None`: it runs only on request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSchedules {
    pub aggregate: Option<JobSchedule>,
    pub divide: Option<JobSchedule>,
    pub rebuild: Option<JobSchedule>,
    pub compact: Option<JobSchedule>,
    pub purge: Option<JobSchedule>,
}

impl Default for JobSchedules {
    /// The defaults of the settings.
    fn default() -> Self {
        Self {
            aggregate: "* * * * * *".parse().ok(),
            divide: "* * * * * *".parse().ok(),
            rebuild: None,
            compact: "0 0 * * * *".parse().ok(),
            purge: "0 0 3 * * *".parse().ok(),
        }
    }
}

/// The settings of all jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    pub schedules: JobSchedules,
    /// Days for which buckets stay, at least the longest look-back.
    pub keep_buckets_days: u32,
    /// Days for which the counts of ingests stay in the audit log.
    pub keep_audit_days: u32,
    /// Days for which ended kernels stay; 0: the longest look-back and a week.
    pub keep_kernels_days: u32,
    /// Days for which the history of fairness, factors and ranks stays.
    pub keep_history_days: u32,
    /// Days for which usage records stay as runs wrote them.
    pub raw_days: u32,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            schedules: JobSchedules::default(),
            keep_buckets_days: KEEP_BUCKETS_DAYS,
            keep_audit_days: 90,
            keep_kernels_days: 0,
            keep_history_days: 400,
            raw_days: 3,
        }
    }
}

/// A job over one resource group.
trait Job: Send + Sync {
    fn name(&self) -> &'static str;

    fn description(&self) -> &'static str;

    /// The earliest time at which the job may start in the group, in addition to its schedule. `None`: at any time.
    fn held_until(&self, _group: &VisibleGroup, _last_start: Option<Timestamp>, _now: Timestamp) -> Option<Timestamp> {
        None
    }

    /// Does the work and returns counts of it.
    fn run(&self, service: Arc<Service>, work: Work) -> BoxFuture<'static, Result<Value>>;
}

/// A job and its schedule.
struct ScheduledJob {
    job: Box<dyn Job>,
    schedule: Option<JobSchedule>,
}

impl ScheduledJob {
    fn new(job: impl Job + 'static, schedule: Option<JobSchedule>) -> Arc<Self> {
        Arc::new(Self { job: Box::new(job), schedule })
    }

    /// The time at which the job is due in the group; in the past if the job is due and has not started yet. `None`: it runs
    /// only on request.
    ///
    /// A job that never started in the group is due since the creation of the group.
    fn due_at(&self, group: &VisibleGroup, last_start: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        let schedule = self.schedule.as_ref()?;
        let by_schedule = match last_start {
            Some(last_start) => schedule.due_at(last_start, now)?,
            None => group.created_at.min(now),
        };
        Some(self.job.held_until(group, last_start, now).map_or(by_schedule, |held_until| by_schedule.max(held_until)))
    }
}

fn all(settings: JobSettings) -> Vec<Arc<ScheduledJob>> {
    let schedules = settings.schedules.clone();
    vec![
        ScheduledJob::new(aggregate::Aggregate, schedules.aggregate),
        ScheduledJob::new(divide::Divide, schedules.divide),
        ScheduledJob::new(rebuild::Rebuild, schedules.rebuild),
        ScheduledJob::new(compact::Compact { raw_days: settings.raw_days }, schedules.compact),
        ScheduledJob::new(purge::Purge { settings }, schedules.purge),
    ]
}

/// The names and descriptions of all jobs.
pub fn described() -> Vec<(&'static str, &'static str)> {
    all(JobSettings::default()).iter().map(|scheduled| (scheduled.job.name(), scheduled.job.description())).collect()
}

/// True once `seconds` have passed since `last`, or if there is no `last`. A clock that was set back delays nothing.
fn elapsed(last: Option<Timestamp>, now: Timestamp, seconds: i64) -> bool {
    last.is_none_or(|last| end_of_wait(last, now, seconds) <= now)
}

/// The time at which `seconds` have passed since `since`. If `since` is as far as that ahead of `now`, the clock was set
/// back, and the wait is over.
fn end_of_wait(since: Timestamp, now: Timestamp, seconds: i64) -> Timestamp {
    let micros = seconds * MICROS_PER_SECOND;
    if since.micros() - now.micros() >= micros { now } else { since.plus_micros(micros) }
}
