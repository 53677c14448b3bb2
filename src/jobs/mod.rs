//! Scheduled jobs: the runner, the trigger that wakes it, and one file for each job. A job takes no input and can be run by
//! hand at any time. A new job is one file here, one line in [`all_jobs`], and a setting for its schedule.
//!
//! A job has a scope. A [`GroupJob`] scans all data of one group and runs once for each of them; a [`ServerJob`] is about
//! what belongs to no group. Both have a lease, a record of each run, and a run on request.
//!
//! The chores of a process are no jobs, because every process has to do it, and no record of it is of use: it reads the
//! news of other processes and sends signs of life each second (the runner), reads keys, stores their last uses, and gives back
//! memory (`engine/upkeep`). The check of partitions is such a watch, too: each process notes the condition that its
//! `/readyz` shows.

mod aggregate;
mod compact;
mod divide;
mod forecast;
mod purge;
mod rebuild;
mod runner;
mod tidy;
mod trigger;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::domain::job_schedule::JobSchedule;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::engine::accounting::purge::KEEP_BUCKETS_DAYS;
use crate::engine::leases::LeasedWork;
use crate::service::jobs::JobScope;
use crate::service::{Result, Service, VisibleGroup};

pub use runner::JobRunner;

/// The schedule of each job; `None`: it runs only on request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSchedules {
    pub aggregate: Option<JobSchedule>,
    pub divide: Option<JobSchedule>,
    pub forecast: Option<JobSchedule>,
    pub rebuild: Option<JobSchedule>,
    pub compact: Option<JobSchedule>,
    pub purge: Option<JobSchedule>,
    pub tidy: Option<JobSchedule>,
}

impl Default for JobSchedules {
    /// The defaults of the settings.
    fn default() -> Self {
        Self {
            aggregate: "* * * * * *".parse().ok(),
            divide: "* * * * * *".parse().ok(),
            forecast: "0 * * * * *".parse().ok(),
            rebuild: None,
            compact: "0 0 * * * *".parse().ok(),
            purge: "0 0 3 * * *".parse().ok(),
            tidy: "0 30 2 * * *".parse().ok(),
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
trait GroupJob: Send + Sync {
    fn name(&self) -> &'static str;

    fn description(&self) -> &'static str;

    /// The earliest time at which the job may start in the group, in addition to its schedule. `None`: at any time.
    fn held_until(&self, _group: &VisibleGroup, _last_start: Option<Timestamp>, _now: Timestamp) -> Option<Timestamp> {
        None
    }

    /// Does the work and returns counts of it.
    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>>;
}

/// A job over what belongs to no group.
trait ServerJob: Send + Sync {
    fn name(&self) -> &'static str;

    fn description(&self) -> &'static str;

    /// Does the work and returns counts of it.
    fn run(&self, service: Arc<Service>) -> BoxFuture<'static, Result<Value>>;
}

/// A job of either scope.
enum Job {
    OfGroups(Box<dyn GroupJob>),
    OfServer(Box<dyn ServerJob>),
}

impl Job {
    fn name(&self) -> &'static str {
        match self {
            Self::OfGroups(job) => job.name(),
            Self::OfServer(job) => job.name(),
        }
    }

    fn description(&self) -> &'static str {
        match self {
            Self::OfGroups(job) => job.description(),
            Self::OfServer(job) => job.description(),
        }
    }

    fn scope(&self) -> JobScope {
        match self {
            Self::OfGroups(_) => JobScope::Group,
            Self::OfServer(_) => JobScope::Server,
        }
    }

    /// [`GroupJob::held_until`] of a job that runs in the group.
    fn held_until(
        &self,
        group: Option<&VisibleGroup>,
        last_start: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        match self {
            Self::OfGroups(job) => job.held_until(group?, last_start, now),
            Self::OfServer(_) => None,
        }
    }
}

/// A job and its schedule.
struct ScheduledJob {
    job: Job,
    schedule: Option<JobSchedule>,
}

impl ScheduledJob {
    fn of_groups(job: impl GroupJob + 'static, schedule: Option<JobSchedule>) -> Arc<Self> {
        Arc::new(Self { job: Job::OfGroups(Box::new(job)), schedule })
    }

    fn of_server(job: impl ServerJob + 'static, schedule: Option<JobSchedule>) -> Arc<Self> {
        Arc::new(Self { job: Job::OfServer(Box::new(job)), schedule })
    }

    /// The time at which the job is due in the group, or for the server; in the past if the job is due and has not started yet.
    /// `None`: it runs only on request.
    ///
    /// A job that never started is due since `since`, the creation of the group, or of the first one for a job of the server.
    fn due_at(
        &self,
        group: Option<&VisibleGroup>,
        since: Timestamp,
        last_start: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let schedule = self.schedule.as_ref()?;
        let by_schedule = match last_start {
            Some(last_start) => schedule.due_at(last_start, now)?,
            None => since.min(now),
        };
        Some(self.job.held_until(group, last_start, now).map_or(by_schedule, |held_until| by_schedule.max(held_until)))
    }
}

fn all_jobs(settings: JobSettings) -> Vec<Arc<ScheduledJob>> {
    let schedules = settings.schedules.clone();
    vec![
        ScheduledJob::of_groups(aggregate::AggregateJob, schedules.aggregate),
        ScheduledJob::of_groups(divide::DivideJob, schedules.divide),
        ScheduledJob::of_groups(forecast::ForecastJob, schedules.forecast),
        ScheduledJob::of_groups(rebuild::RebuildJob, schedules.rebuild),
        ScheduledJob::of_groups(compact::CompactJob { raw_days: settings.raw_days }, schedules.compact),
        ScheduledJob::of_server(tidy::TidyJob { keep_audit_days: settings.keep_audit_days }, schedules.tidy),
        ScheduledJob::of_groups(purge::PurgeJob { settings }, schedules.purge),
    ]
}

/// The names and descriptions of all jobs.
pub fn described_jobs() -> Vec<(&'static str, &'static str)> {
    all_jobs(JobSettings::default())
        .iter()
        .map(|scheduled| (scheduled.job.name(), scheduled.job.description()))
        .collect()
}

/// True once `seconds` have passed since `last`, or if there is no `last`. A clock that was set back delays nothing.
fn has_elapsed(last: Option<Timestamp>, now: Timestamp, seconds: i64) -> bool {
    last.is_none_or(|last| end_of_wait(last, now, seconds) <= now)
}

/// The time at which `seconds` have passed since `since`. If `since` is as far as that ahead of `now`, the clock was set
/// back, and the wait is over.
fn end_of_wait(since: Timestamp, now: Timestamp, seconds: i64) -> Timestamp {
    let micros = seconds * MICROS_PER_SECOND;
    if since.micros() - now.micros() >= micros { now } else { since.plus_micros(micros) }
}
