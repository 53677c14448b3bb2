//! The runner of the jobs.
//!
//! Several processes may serve one database, a job may run for longer than its schedule allows, and any process may stop or
//! lose the database at any moment. No job may run twice at the same time in one group, or for the server, and none may be
//! forgotten.
//!
//! Therefore the runner holds three things for a run:
//! - the flight: a mutex of this process for the job and the group, or for the job of the server;
//! - a turn: a permit of a semaphore, so that many groups do not use all connections to the database;
//! - a lease in the database, which excludes other processes. Its fence makes a run without a valid lease fail at its
//!   commit.
//!
//! The trigger only wakes the runner. The runner compares the last start of each job with the service's clock and starts the
//! jobs that are due, so that a missed wake-up delays a job and loses nothing. Jobs go on from cursors in the database; the
//! runner keeps no progress of theirs.
//!
//! Invariants:
//! - Every run under a lease has a record in the database, also one that panics. The record of a run whose process has died
//!   is closed as abandoned by another process.
//! - Nothing starts after [`JobRunner::shutdown`] has begun to drain; runs under way come to their end.
//!
//! See "The runner" in ARCHITECTURE.

use std::collections::HashMap;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Duration, timeout};
use tokio_util::task::TaskTracker;

use super::trigger::{EVERY_SECOND, JobTrigger, TriggerEntry};
use super::{Job, JobSettings, ScheduledJob, all_jobs, has_elapsed};
use crate::domain::time::Timestamp;
use crate::engine::leases::LeasedWork;
use crate::engine::leases::{LeaseFence, LeaseResult, ProcessPresence};
use crate::service::jobs::{JobControl, JobDefinition, JobFailure, JobRun, JobScope, start_that_counts};
use crate::service::{Caller, Error, Result, Service, VisibleGroup};

/// After this time a request for a run is answered that the run still waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// The interval of heartbeats, which is the precision of recorded downtimes.
const HEARTBEAT_SECONDS: i64 = 5;
/// The interval at which each process checks that records lie in the partitions of their days.
const WATCH_SECONDS: i64 = 600;
/// The interval at which all jobs are checked, in addition to their schedules. A job may be due outside its schedule: in a
/// new group, at the end of the wait of [`Job::held_until`], or because it could not start at its time.
const EVERY_FIVE_SECONDS: &str = "*/5 * * * * *";

type Flight = Arc<tokio::sync::Mutex<()>>;
/// A job by name, and the group that a run of it is about; `None`: the server.
type JobKey = (&'static str, Option<String>);

pub struct JobRunner {
    service: Arc<Service>,
    jobs: Vec<Arc<ScheduledJob>>,
    /// The registration of this process; made by its first run.
    presence: OnceCell<ProcessPresence>,
    /// Limits the number of runs at a time.
    turns: Arc<Semaphore>,
    flights: Mutex<HashMap<JobKey, Flight>>,
    last_starts: Mutex<HashMap<JobKey, Timestamp>>,
    last_beat: Mutex<Option<Timestamp>>,
    last_watch: Mutex<Option<Timestamp>>,
    tracker: TaskTracker,
    refreshing: Flight,
    beating: Flight,
    /// Runs that ended early because of the database, and are not in the log yet.
    interruptions: AtomicU64,
    /// The trigger that wakes the runner, once it is started.
    trigger: Mutex<Option<JobTrigger>>,
}

impl JobRunner {
    /// Creates a runner, which starts no job by itself before [`Self::start`].
    pub fn new(service: Arc<Service>, settings: JobSettings) -> Arc<Self> {
        Arc::new(Self {
            turns: Arc::new(Semaphore::new(service.store().runs_at_once())),
            service,
            jobs: all_jobs(settings),
            presence: OnceCell::new(),
            flights: Mutex::default(),
            last_starts: Mutex::default(),
            last_beat: Mutex::default(),
            last_watch: Mutex::default(),
            tracker: TaskTracker::new(),
            refreshing: Flight::default(),
            beating: Flight::default(),
            interruptions: AtomicU64::new(0),
            trigger: Mutex::default(),
        })
    }

    /// Starts the schedules. Jobs that became due while no server ran start at once.
    pub async fn start(self: &Arc<Self>) -> Result<()> {
        self.service.close_abandoned_runs(self.presence().await?).await?;
        let past = self.service.last_job_runs(&Caller::internal("jobs")).await?;
        {
            let mut starts = lock(&self.last_starts);
            for run in past {
                let start = start_that_counts(&run);
                if let Some((scheduled, start)) = self.job(&run.job).zip(start) {
                    starts.insert((scheduled.job.name(), run.resource_group), start);
                }
            }
        }
        let trigger = JobTrigger::start(self.trigger_entries()).await;
        let failed = |error| Error::failed("the scheduler of the jobs does not start", error);
        *lock(&self.trigger) = Some(trigger.map_err(failed)?);
        Ok(())
    }

    /// The entries for housekeeping, for the check of all jobs, and for each job that has a schedule.
    fn trigger_entries(self: &Arc<Self>) -> Vec<TriggerEntry> {
        let mut entries = vec![
            self.trigger_entry(EVERY_SECOND, Self::keep_house),
            self.trigger_entry(EVERY_FIVE_SECONDS, |runner| runner.start_due(&runner.jobs)),
        ];
        for scheduled in &self.jobs {
            if let Some(schedule) = &scheduled.schedule {
                let scheduled = Arc::clone(scheduled);
                let start = move |runner: &Arc<Self>| runner.start_due(slice::from_ref(&scheduled));
                entries.push(self.trigger_entry(schedule.as_str(), start));
            }
        }
        entries
    }

    /// An entry that calls `action`, which must not block.
    fn trigger_entry(
        self: &Arc<Self>,
        expression: &str,
        action: impl Fn(&Arc<Self>) + Send + Sync + 'static,
    ) -> TriggerEntry {
        let (runner, action) = (Arc::downgrade(self), Arc::new(action));
        let wake = move || {
            let (runner, action) = (runner.clone(), Arc::clone(&action));
            let woken = async move {
                let Some(runner) = runner.upgrade() else { return };
                // A drain waits for the token, so that nothing starts after it.
                let _token = runner.tracker.token();
                if !runner.tracker.is_closed() {
                    action(&runner);
                }
            };
            woken.boxed()
        };
        TriggerEntry { expression: expression.to_owned(), wake: Arc::new(wake) }
    }

    /// Stops the trigger and waits for the runs under way. The last heartbeat marks the end of service.
    pub async fn shutdown(&self) {
        let trigger = lock(&self.trigger).take();
        if let Some(trigger) = trigger {
            trigger.stop().await;
        }
        // Runs that wait for their turn are given up; runs under way come to their end.
        self.turns.close();
        self.tracker.close();
        self.tracker.wait().await;
        if let Err(error) = self.leave().await {
            tracing::warn!(%error, "the last heartbeat was not written");
        }
    }

    async fn leave(&self) -> Result<()> {
        if let Some(presence) = self.presence.get() {
            self.service.leave(presence).await?;
        }
        self.service.heartbeat().await
    }

    /// Starts the given jobs that are due; never waits.
    fn start_due(self: &Arc<Self>, jobs: &[Arc<ScheduledJob>]) {
        // Runs would only fail now. They start once the database answers, writes are accepted and the clock is trusted.
        let service = &self.service;
        if service.store().availability().silence().is_some()
            || service.health.refuses_writes().is_some()
            || service.check_clock().is_err()
        {
            return;
        }
        let (of_groups, of_server): (Vec<_>, Vec<_>) = jobs.iter().partition(|s| s.job.scope() == JobScope::Group);
        for group in service.groups(&Caller::job()) {
            for scheduled in &of_groups {
                self.start_if_due(scheduled, Some(&group));
            }
        }
        for scheduled in of_server {
            self.start_if_due(scheduled, None);
        }
    }

    /// Starts the job in the group, or for the server, if it is due.
    fn start_if_due(self: &Arc<Self>, scheduled: &Arc<ScheduledJob>, group: Option<&VisibleGroup>) {
        let key = (scheduled.job.name(), group.map(|group| group.name.to_string()));
        // The flight is taken before the clock and the last start are read, because several entries are woken at the
        // same time. Otherwise an entry could start a job again that another one has started and ended meanwhile.
        let Ok(flight) = self.flight(&key).try_lock_owned() else { return };
        let now = self.service.clock().now();
        let last_start = lock(&self.last_starts).get(&key).copied();
        if self.due_at(scheduled, group, last_start).is_none_or(|due_at| due_at > now) {
            return;
        }
        let (runner, scheduled) = (Arc::clone(self), Arc::clone(scheduled));
        self.tracker.spawn(async move {
            let _flight = flight;
            let Some(_turn) = runner.acquire_turn().await else { return };
            let group = key.1.as_deref();
            match runner.run_once(&scheduled.job, group, "schedule").await {
                Ok(_) | Err(Error::Conflict { .. }) => {}
                Err(error @ Error::Unavailable { .. }) => {
                    runner.note_interruption(scheduled.job.name(), group, &error.cause());
                }
                Err(error) => tracing::error!(job = scheduled.job.name(), group, %error, "job not run"),
            }
        });
    }

    /// The time at which the job is due in the group, or for the server; `None`: it runs only on request, or there is no group.
    fn due_at(
        &self,
        scheduled: &ScheduledJob,
        group: Option<&VisibleGroup>,
        last_start: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let first = || self.service.groups(&Caller::job()).iter().map(|group| group.created_at).min();
        let since = group.map_or_else(first, |group| Some(group.created_at))?;
        scheduled.due_at(group, since, last_start, self.service.clock().now())
    }

    /// Counts a run that ended early because of the database. The log has one line for all of them.
    fn note_interruption(&self, job: &str, group: Option<&str>, cause: &str) {
        tracing::debug!(job, group, cause, "job interrupted");
        self.interruptions.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads the changes of other processes, and sends a heartbeat; neither waits for the other.
    fn keep_house(self: &Arc<Self>) {
        let now = self.service.clock().now();
        self.service.note_storage();
        // Everything below needs the database.
        if self.service.store().availability().silence().is_some() {
            return;
        }
        let runs = self.interruptions.swap(0, Ordering::Relaxed);
        if runs > 0 {
            tracing::warn!(
                runs,
                "the database was away or busy, and runs of jobs ended early; the next runs do the rest"
            );
        }
        if let Ok(guard) = Arc::clone(&self.refreshing).try_lock_owned() {
            let runner = Arc::clone(self);
            self.tracker.spawn(async move {
                let _guard = guard;
                if let Err(error) = runner.service.refresh().await {
                    tracing::warn!(%error, "what other processes changed was not read");
                }
            });
        }
        if !has_elapsed(*lock(&self.last_beat), now, HEARTBEAT_SECONDS) {
            return;
        }
        if let Ok(guard) = Arc::clone(&self.beating).try_lock_owned() {
            *lock(&self.last_beat) = Some(now);
            let runner = Arc::clone(self);
            self.tracker.spawn(async move {
                let _guard = guard;
                if let Err(error) = runner.beat().await {
                    tracing::warn!(%error, "no sign of life was stored");
                }
                if let Err(error) = runner.watch(now).await {
                    tracing::warn!(%error, "the partitions of days were not looked at");
                }
            });
        }
    }

    fn job(&self, name: &str) -> Option<&Arc<ScheduledJob>> {
        self.jobs.iter().find(|scheduled| scheduled.job.name() == name)
    }

    fn flight(&self, key: &JobKey) -> Flight {
        Arc::clone(lock(&self.flights).entry(key.clone()).or_default())
    }

    /// Sends a heartbeat, and closes the runs of processes that have died.
    async fn beat(&self) -> Result<()> {
        self.service.heartbeat().await?;
        self.service.close_abandoned_runs(self.presence().await?).await?;
        Ok(())
    }

    /// Checks for conditions that get worse without causing an error.
    async fn watch(&self, now: Timestamp) -> Result<()> {
        if !has_elapsed(*lock(&self.last_watch), now, WATCH_SECONDS) {
            return Ok(());
        }
        self.service.watch_partitions().await?;
        *lock(&self.last_watch) = Some(now);
        Ok(())
    }

    async fn presence(&self) -> Result<&ProcessPresence> {
        self.presence.get_or_try_init(|| self.service.join()).await
    }

    /// Waits for the turn of a run, first come first served. `None`: the runner stops.
    async fn acquire_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// Runs a job under the lease and records the run. The caller holds the flight and a turn.
    #[tracing::instrument(name = "jobs.run_once", level = "debug", skip_all, fields(job = job.name(), group), err(level = "debug"))]
    async fn run_once(&self, job: &Job, group: Option<&str>, trigger: &str) -> Result<JobRun> {
        self.service.check_clock()?;
        lock(&self.last_starts).insert((job.name(), group.map(str::to_owned)), self.service.clock().now());
        let presence = self.presence().await?;
        let lease = group.map_or_else(|| job.name().to_owned(), |group| format!("{}/{group}", job.name()));
        let fence = match self.service.take_lease(presence, &lease).await? {
            LeaseResult::Taken(fence) => fence,
            LeaseResult::Held { by, since } => {
                let of = group.map_or_else(String::new, |group| format!(" of {group:?}"));
                let detail = format!("{}{of} has been running in another process ({by}) since {since}", job.name());
                return Err(Error::Conflict { code: "job_running", detail });
            }
        };
        let run = self.service.job_started(job.name(), group, trigger, presence.id()).await?;
        let outcome = run_isolated(work_of(job, Arc::clone(&self.service), group, &fence)).await;
        if let Err(failure) = &outcome {
            if failure.is_interruption {
                self.note_interruption(job.name(), group, &failure.cause);
            } else {
                tracing::error!(job = job.name(), group, cause = failure.cause, "job failed");
            }
        }
        metrics::counter!("fairshared_job_runs_total", "job" => job.name(), "outcome" => outcome_label(&outcome))
            .increment(1);
        self.service.job_finished(run, &outcome).await?;
        self.service.release_lease(&fence).await?;
        let lost =
            || Error::unavailable("the database has gone back to an earlier state and has no record of this run");
        self.service.job_run(run.id).await?.ok_or_else(lost)
    }

    /// Runs a job on request in one group after the other; `None` stands for the server. Sends `begun` when the first run begins.
    async fn run_in_turn(
        &self,
        job: &Job,
        groups: Vec<Option<String>>,
        begun: oneshot::Sender<()>,
    ) -> Result<Vec<JobRun>> {
        let (mut runs, mut begun) = (Vec::new(), Some(begun));
        for group in groups {
            let _flight = self.flight(&(job.name(), group.clone())).lock_owned().await;
            let Some(_turn) = self.acquire_turn().await else { return Err(shutting_down()) };
            begun.take().map(|begun| begun.send(()));
            runs.push(self.run_once(job, group.as_deref(), "manual").await?);
        }
        Ok(runs)
    }
}

/// The work of one run.
fn work_of(
    job: &Job,
    service: Arc<Service>,
    group: Option<&str>,
    fence: &LeaseFence,
) -> BoxFuture<'static, Result<Value>> {
    match (job, group) {
        (Job::OfServer(job), _) => job.run(service),
        (Job::OfGroups(job), Some(group)) => {
            job.run(service, LeasedWork { group: group.to_owned(), fence: Some(fence.clone()) })
        }
        (Job::OfGroups(job), None) => unreachable!("{} runs in one group after the other", job.name()),
    }
}

/// Runs the work on a task of its own, so that a panic ends this run and nothing else.
async fn run_isolated(work: BoxFuture<'static, Result<Value>>) -> std::result::Result<Value, JobFailure> {
    let done = tokio::spawn(work).await;
    match done {
        Ok(Ok(counts)) => Ok(counts),
        Ok(Err(error)) => Err(JobFailure {
            status: "failed",
            detail: error.to_string(),
            cause: error.cause(),
            is_interruption: is_interruption(&error),
        }),
        Err(panic) => Err(JobFailure {
            status: "panicked",
            detail: "the job panicked; its cause is in the server's log".to_owned(),
            cause: panic.to_string(),
            is_interruption: false,
        }),
    }
}

impl JobControl for JobRunner {
    fn jobs(&self) -> Vec<JobDefinition> {
        let definition = |scheduled: &Arc<ScheduledJob>| JobDefinition {
            name: scheduled.job.name(),
            description: scheduled.job.description(),
            scope: scheduled.job.scope(),
            schedule: scheduled.schedule.as_ref().map(|schedule| schedule.as_str().to_owned()),
        };
        self.jobs.iter().map(definition).collect()
    }

    fn next_run_at(&self, job: &str, group: Option<&VisibleGroup>, last_start: Option<Timestamp>) -> Option<Timestamp> {
        self.due_at(self.job(job)?, group, last_start)
    }

    fn run_now(self: Arc<Self>, job: String, group: Option<String>) -> BoxFuture<'static, Option<Result<Vec<JobRun>>>> {
        let Some(known) = self.job(&job).map(Arc::clone) else { return async { None }.boxed() };
        let groups = match (known.job.scope(), group) {
            (JobScope::Server, _) => vec![None],
            (JobScope::Group, Some(name)) => vec![Some(name)],
            (JobScope::Group, None) => {
                self.service.groups(&Caller::job()).iter().map(|group| Some(group.name.to_string())).collect()
            }
        };
        let (tracker, runner, (begin, begun)) = (self.tracker.clone(), Arc::clone(&self), oneshot::channel());
        // On its own task, so that the run goes on and is recorded even if the client disconnects.
        let run = tracker.spawn(async move { runner.run_in_turn(&known.job, groups, begin).await });
        async move {
            if timeout(TURN_TIMEOUT, begun).await.is_err() {
                return Some(Err(still_waiting(&job)));
            }
            Some(run.await.unwrap_or_else(|error| Err(Error::failed("the runner panicked", error))))
        }
        .boxed()
    }
}

fn is_interruption(error: &Error) -> bool {
    matches!(error, Error::Unavailable { .. } | Error::Conflict { code: "lease_lost", .. })
}

fn still_waiting(job: &str) -> Error {
    let detail = format!("{job} has not begun: other runs come first; it runs after them, and /job-runs shows it then");
    Error::not_now("job_waiting", detail)
}

fn shutting_down() -> Error {
    Error::unavailable("the service is shutting down")
}

fn outcome_label(outcome: &std::result::Result<Value, JobFailure>) -> &'static str {
    match outcome {
        Ok(_) => "succeeded",
        Err(failure) => failure.status,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
