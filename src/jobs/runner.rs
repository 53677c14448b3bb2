//! Runs jobs: one flight per job and group in this process, a lease in the database among
//! processes, a record of every run, and a drain at shutdown. The scheduler only triggers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::{Duration, interval};
use tokio_cron_scheduler::{Job as Trigger, JobScheduler};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{Job, JobSettings, all, elapsed};
use crate::domain::time::Timestamp;
use crate::service::jobs::{JobControl, JobFailure, JobRun};
use crate::service::{Caller, Error, Result, Service};

/// Long enough to survive a stall, short enough that a crashed process does not hold a job up.
const LEASE_SECONDS: i64 = 15;
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// How precisely downtime is known afterwards.
const HEARTBEAT_SECONDS: i64 = 5;
const EVERY_SECOND: &str = "* * * * * *";

type Flight = Arc<tokio::sync::Mutex<()>>;

pub struct Runner {
    service: Arc<Service>,
    jobs: Vec<Arc<dyn Job>>,
    holder: Uuid,
    flights: Mutex<HashMap<(&'static str, String), Flight>>,
    last_starts: Mutex<HashMap<(&'static str, String), Timestamp>>,
    last_beat: Mutex<Option<Timestamp>>,
    tracker: TaskTracker,
    housekeeping: Flight,
    scheduler: tokio::sync::Mutex<Option<JobScheduler>>,
}

impl Runner {
    /// A runner that does nothing by itself until it is started.
    pub fn new(service: Arc<Service>, settings: JobSettings) -> Arc<Self> {
        Arc::new(Self {
            service,
            jobs: all(settings),
            holder: Uuid::new_v4(),
            flights: Mutex::default(),
            last_starts: Mutex::default(),
            last_beat: Mutex::default(),
            tracker: TaskTracker::new(),
            housekeeping: Flight::default(),
            scheduler: tokio::sync::Mutex::default(),
        })
    }

    /// Starts the schedule; jobs that fell due while nobody ran them start at once.
    pub async fn start(self: &Arc<Self>) -> Result<()> {
        let past = self.service.last_job_runs(&Caller::internal("jobs")).await?;
        {
            let mut starts = lock(&self.last_starts);
            for run in past {
                if let (Some(job), Some(group)) = (self.job(&run.job), run.resource_group) {
                    starts.insert((job.name(), group), run.started_at);
                }
            }
        }
        let failed = |e: tokio_cron_scheduler::JobSchedulerError| Error::Internal(format!("scheduler: {e}"));
        let scheduler = JobScheduler::new().await.map_err(failed)?;
        let runner = Arc::clone(self);
        let trigger = Trigger::new_async(EVERY_SECOND, move |_, _| {
            let runner = Arc::clone(&runner);
            async move { runner.tick() }.boxed()
        });
        scheduler.add(trigger.map_err(failed)?).await.map_err(failed)?;
        scheduler.start().await.map_err(failed)?;
        *self.scheduler.lock().await = Some(scheduler);
        Ok(())
    }

    /// Stops triggering and waits for what runs; the last heartbeat marks the end of service.
    pub async fn shutdown(&self) {
        if let Some(mut scheduler) = self.scheduler.lock().await.take()
            && let Err(error) = scheduler.shutdown().await
        {
            tracing::warn!(%error, "the scheduler did not stop cleanly");
        }
        self.tracker.close();
        self.tracker.wait().await;
        if let Err(error) = self.service.heartbeat().await {
            tracing::warn!(%error, "the last heartbeat was not written");
        }
    }

    /// Starts whatever is due; never waits.
    fn tick(self: &Arc<Self>) {
        let now = self.service.clock().now();
        self.keep_house(now);
        for group in self.service.published_groups() {
            for job in &self.jobs {
                let key = (job.name(), group.name.to_string());
                let last = lock(&self.last_starts).get(&key).copied();
                if !job.is_due(&group, last, now) {
                    continue;
                }
                let Ok(flight) = self.flight(&key).try_lock_owned() else { continue };
                lock(&self.last_starts).insert(key, now);
                let (runner, job, group) = (Arc::clone(self), Arc::clone(job), group.name.to_string());
                self.tracker.spawn(async move {
                    let _flight = flight;
                    match runner.run_once(job.as_ref(), &group, "schedule").await {
                        Ok(_) | Err(Error::Conflict { .. }) => {}
                        Err(error) => tracing::error!(job = job.name(), group, %error, "job not run"),
                    }
                });
            }
        }
    }

    /// Heartbeat, and news from other processes.
    fn keep_house(self: &Arc<Self>, now: Timestamp) {
        let Ok(guard) = Arc::clone(&self.housekeeping).try_lock_owned() else { return };
        let beat = elapsed(*lock(&self.last_beat), now, HEARTBEAT_SECONDS);
        if beat {
            *lock(&self.last_beat) = Some(now);
        }
        let service = Arc::clone(&self.service);
        self.tracker.spawn(async move {
            let _guard = guard;
            let heartbeat = if beat { service.heartbeat().await } else { Ok(()) };
            if let Err(error) = heartbeat.and(service.refresh().await) {
                tracing::warn!(%error, "housekeeping failed");
            }
        });
    }

    fn job(&self, name: &str) -> Option<&Arc<dyn Job>> {
        self.jobs.iter().find(|j| j.name() == name)
    }

    fn flight(&self, key: &(&'static str, String)) -> Flight {
        Arc::clone(lock(&self.flights).entry(key.clone()).or_default())
    }

    /// One run under the lease, recorded. The caller holds the flight.
    async fn run_once(&self, job: &dyn Job, group: &str, trigger: &str) -> Result<JobRun> {
        let lease = format!("{}/{group}", job.name());
        if !self.service.acquire_lease(&lease, self.holder, LEASE_SECONDS).await? {
            let detail = format!("{} of {group:?} is running in another process", job.name());
            return Err(Error::Conflict { code: "job_running", detail });
        }
        let id = self.service.job_started(job.name(), group, trigger).await?;
        let outcome = self.flown(job, group, &lease).await;
        if let Err(failure) = &outcome {
            tracing::error!(job = job.name(), group, detail = failure.detail, "job failed");
        }
        metrics::counter!("fairshared_job_runs_total", "job" => job.name(), "outcome" => outcome_label(&outcome))
            .increment(1);
        self.service.job_finished(id, &outcome).await?;
        self.service.release_lease(&lease, self.holder).await?;
        self.service.job_run(id).await?.ok_or_else(|| Error::Internal(format!("job run {id} vanished")))
    }

    /// The work itself, with the lease renewed meanwhile. A panic ends this run and nothing else.
    async fn flown(&self, job: &dyn Job, group: &str, lease: &str) -> std::result::Result<Value, JobFailure> {
        let mut work = tokio::spawn(job.run(Arc::clone(&self.service), group.to_owned()));
        let mut renewal = interval(RENEW_EVERY);
        renewal.tick().await;
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = renewal.tick() => {
                    if let Err(error) = self.service.acquire_lease(lease, self.holder, LEASE_SECONDS).await {
                        tracing::warn!(%error, lease, "lease not renewed");
                    }
                }
            }
        };
        match done {
            Ok(Ok(counts)) => Ok(counts),
            Ok(Err(error)) => Err(JobFailure { status: "failed", detail: error.to_string() }),
            Err(_) => Err(JobFailure {
                status: "panicked",
                detail: "the job panicked; its cause is in the server's log".to_owned(),
            }),
        }
    }
}

impl JobControl for Runner {
    fn jobs(&self) -> Vec<(&'static str, &'static str)> {
        self.jobs.iter().map(|j| (j.name(), j.description())).collect()
    }

    fn run_now(self: Arc<Self>, job: String, group: Option<String>) -> BoxFuture<'static, Option<Result<Vec<JobRun>>>> {
        let tracker = self.tracker.clone();
        // On its own task: the run goes on and is recorded even if whoever asked goes away.
        let run = tracker.spawn(async move {
            let job = Arc::clone(self.job(&job)?);
            let groups = match group {
                Some(name) => vec![name],
                None => self.service.published_groups().iter().map(|g| g.name.to_string()).collect(),
            };
            let mut runs = Vec::new();
            for group in groups {
                let key = (job.name(), group.clone());
                let _flight = self.flight(&key).lock_owned().await;
                lock(&self.last_starts).insert(key, self.service.clock().now());
                match self.run_once(job.as_ref(), &group, "manual").await {
                    Ok(run) => runs.push(run),
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(runs))
        });
        async { run.await.unwrap_or_else(|_| Some(Err(Error::Internal("the runner panicked".to_owned())))) }.boxed()
    }
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
