//! The trigger that wakes the runner: tokio-cron-scheduler, with one entry for each cron expression.
//!
//! An entry only wakes the runner, which decides by the service's clock what is due. Therefore an unneeded wake-up does no
//! harm, and the next one makes up for a missed one.
//!
//! The scheduler waits for times of the system's clock. If the clock is set back, the scheduler would wake no entry before
//! the clock shows the old time again. Therefore a task with a monotonic clock checks whether entries are still woken, and
//! wakes all of them otherwise.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::DateTime;
use futures::future::BoxFuture;
use tokio::time::{Instant, sleep};
use tokio_cron_scheduler::job::JobCreator;
use tokio_cron_scheduler::{Context, Job, JobScheduler, JobSchedulerError};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

/// The expression of an entry that is woken once a second. One entry must have it, because the pause watch takes a pause of
/// all entries as a sign of a clock that was set back.
pub(super) const EVERY_SECOND: &str = "* * * * * *";
/// After a pause of this length all entries are woken.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A cron expression and the action at its times.
pub(super) struct TriggerEntry {
    pub expression: String,
    pub wake: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// A scheduler that runs until it is stopped.
pub(super) struct JobTrigger {
    scheduler: JobScheduler,
    _pause_watch: AbortOnDropHandle<()>,
}

impl JobTrigger {
    /// Wakes every entry now, and from then on at its times.
    pub async fn start(entries: Vec<TriggerEntry>) -> Result<Self, JobSchedulerError> {
        let mut scheduler = JobScheduler::new().await?;
        scheduler.init().await?;
        let context = scheduler.context();
        let last_wake = Arc::new(Mutex::new(Instant::now()));
        let mut ids = Vec::new();
        for TriggerEntry { expression, wake } in entries {
            tokio::spawn(wake());
            let last_wake = Arc::clone(&last_wake);
            let job = Job::new_async(expression, move |_, _| {
                *last_wake.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                wake()
            })?;
            // Does the same as `JobScheduler::add`, which would write a line into the log for each entry.
            ids.push(JobCreator::add(&context, job).await?);
        }
        scheduler.start().await?;
        let watch = tokio::spawn(end_pauses(context, ids, last_wake));
        Ok(Self { scheduler, _pause_watch: AbortOnDropHandle::new(watch) })
    }

    /// Wakes no entry from now on. A wake-up that has begun goes on.
    pub async fn stop(mut self) {
        if let Err(error) = self.scheduler.shutdown().await {
            tracing::warn!(%error, "the scheduler of the jobs was not stopped");
        }
    }
}

async fn end_pauses(context: Arc<Context>, ids: Vec<Uuid>, last_wake: Arc<Mutex<Instant>>) {
    loop {
        sleep(PAUSE_MAX).await;
        if last_wake.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < PAUSE_MAX {
            continue;
        }
        tracing::info!(
            "the scheduler of the jobs woke nothing for a while, as after a clock that was set back; all jobs are looked at"
        );
        // The scheduler wakes an entry whose time has passed, and then calculates its next time by the current clock.
        let passed = DateTime::from_timestamp(1, 0);
        for id in &ids {
            let setting = context.metadata_storage.write().await.set_next_and_last_tick(*id, passed, None);
            if let Err(error) = setting.await {
                tracing::warn!(%error, "an entry of the scheduler of the jobs was not woken");
            }
        }
    }
}
