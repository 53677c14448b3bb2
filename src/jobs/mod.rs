//! Scheduled tasks: a runner, what wakes it, and one file for each job. A job takes no input, scans in full, and
//! can be run by hand at any time. A new job is one file here, one line in [`all`], and a setting for its schedule.

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

/// When each job starts by itself; `None`: only on request.
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

/// What the jobs need to know besides the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    pub schedules: JobSchedules,
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
            schedules: JobSchedules::default(),
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

    /// The earliest time at which the job may start in the group by itself, besides its schedule. `None`: at any time.
    fn held_until(&self, _group: &VisibleGroup, _last_start: Option<Timestamp>, _now: Timestamp) -> Option<Timestamp> {
        None
    }

    /// Does the work; the answer counts what was done.
    fn run(&self, service: Arc<Service>, work: Work) -> BoxFuture<'static, Result<Value>>;
}

/// A job, and when it starts by itself.
struct ScheduledJob {
    job: Box<dyn Job>,
    schedule: Option<JobSchedule>,
}

impl ScheduledJob {
    fn new(job: impl Job + 'static, schedule: Option<JobSchedule>) -> Arc<Self> {
        Arc::new(Self { job: Box::new(job), schedule })
    }

    /// When the job is due in the group; a time that has passed since, if it has not started although it is due. `None`: it
    /// starts only on request.
    ///
    /// A job that never started in the group has been due since the group was made.
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

/// The names of all jobs and what each does.
pub fn described() -> Vec<(&'static str, &'static str)> {
    all(JobSettings::default()).iter().map(|scheduled| (scheduled.job.name(), scheduled.job.description())).collect()
}

/// True once `seconds` have passed since `last`, and if nothing was before. A clock that jumped back stops nothing.
fn elapsed(last: Option<Timestamp>, now: Timestamp, seconds: i64) -> bool {
    last.is_none_or(|last| end_of_wait(last, now, seconds) <= now)
}

/// When `seconds` have passed since `since`. A start that lies so far ahead of `now` shows that the clock was set back: then
/// nothing is left to wait for.
fn end_of_wait(since: Timestamp, now: Timestamp, seconds: i64) -> Timestamp {
    let micros = seconds * MICROS_PER_SECOND;
    if since.micros() - now.micros() >= micros { now } else { since.plus_micros(micros) }
}
