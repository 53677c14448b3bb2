//! The times at which the service ran, and trust in its clock. Heartbeats are stored only for times that are certain,
//! and jobs pause while the clock is doubted.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::clock_watch::{ClockSkew, MAX_DIFFERENCE_MICROS};
use super::health::HealthCondition;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::audit::{self, AuditAuthor, AuditedChange};
use crate::engine::error::{Error, Result};
use crate::store::clock::{ClockRecord, WrongReading};
use crate::store::revision::TaggedRevision;
use crate::store::runs::ServiceRun;
use crate::store::{self, ConnectionTrait};

/// The code of the condition and of refusals while the clock is not trusted.
const UNTRUSTED_CODE: &str = "clock_untrusted";

/// The times at which the service ran, as far as this process knows.
#[derive(Debug, Default)]
pub(crate) struct ServiceRuns {
    /// The runs before this process opened the database, by start.
    earlier: Vec<ServiceRun>,
    /// The reading of the steady clock when this process began to serve.
    since: Option<Duration>,
    /// The run of this process, if it serves and its clock was trusted at some time.
    own: Option<ServiceRun>,
    /// The heartbeat of this process that was stored before the last one.
    earlier_heartbeat: Option<Timestamp>,
    /// The last decision of an admin about the clock that this process has read.
    trust_revision: TaggedRevision,
}

/// The decision of an admin that the clock is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOverride {
    pub trusted_at: Timestamp,
    /// The reason why the clock was doubted before.
    pub doubt: Option<ClockSkew>,
}

impl FairShareEngine {
    /// Reads the earlier runs, and compares the clock with them.
    pub(crate) async fn begin_watching(&self, db: &impl ConnectionTrait) -> Result<()> {
        let earlier = store::runs::list(db).await?;
        let known = store::clock::read(db).await?;
        let held = known.held.map(|h| ClockSkew { wall: h.wall, reference: h.reference, since_start: true });
        // An admin's decision counts like a heartbeat, also for processes that start before the next heartbeat.
        let last_alive = earlier.iter().map(|run| run.last_heartbeat_at).chain(known.trusted_at).max();
        self.clock.begin(last_alive, held);
        *self.runs() = ServiceRuns { earlier, trust_revision: known.revision, ..ServiceRuns::default() };
        Ok(())
    }

    /// Marks this process as one that serves. From now on heartbeats record that it is alive, and the time between the
    /// last heartbeat before and now is downtime (FAIR_SHARE §4).
    #[tracing::instrument(
        name = "engine.upkeep.clock_trust.start_serving",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn start_serving(&self) -> Result<()> {
        if self.runs().since.replace(self.clock.steady()).is_some() {
            return Err(Error::internal("the service was started twice"));
        }
        self.note_comparison(Instant::now());
        match self.clock.doubt() {
            None => match self.begin_run().await {
                Err(error @ Error::Unavailable { .. }) => {
                    tracing::warn!(%error, "the next heartbeat stores since when this process serves");
                    Ok(())
                }
                outcome => outcome,
            },
            Some(doubt) => {
                self.pause_jobs(doubt);
                Ok(())
            }
        }
    }

    /// Stores the start of this run, once the clock is trusted.
    async fn begin_run(&self) -> Result<()> {
        let Some(since) = self.runs().since else { return Ok(()) };
        let served = i64::try_from(self.clock.steady().saturating_sub(since).as_micros()).unwrap_or(0);
        let now = self.clock.now();
        let run = store::runs::start(self.store.write(), now.plus_micros(-served), now).await?;
        self.runs().own = Some(run);
        Ok(())
    }

    /// Compares the clock with the time that has passed, and stores that the service was alive until now.
    #[tracing::instrument(
        name = "engine.upkeep.clock_trust.heartbeat",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn heartbeat(&self) -> Result<()> {
        if self.runs().since.is_none() {
            return Ok(());
        }
        let doubt = self.watch_clock().await?;
        let own = self.runs().own;
        match (own, doubt) {
            (Some(run), _) => self.beat(run).await,
            (None, None) => self.begin_run().await,
            // The start of this run is not known yet.
            (None, Some(_)) => Ok(()),
        }
    }

    async fn beat(&self, run: ServiceRun) -> Result<()> {
        let now = self.clock.trusted_time();
        if now <= run.last_heartbeat_at {
            return Ok(());
        }
        if store::runs::record_heartbeat(self.store.write(), run, now).await? {
            self.take_own_run(run, Some(now));
            return Ok(());
        }
        self.reread_own_run().await?;
        // The next heartbeat continues from the stored state.
        Ok(())
    }

    /// Reads the stored last heartbeat of this process. If it is earlier than the one that this process has stored, the
    /// database has gone back to a state of that time.
    pub(crate) async fn reread_own_run(&self) -> Result<()> {
        let Some(run) = self.runs().own else { return Ok(()) };
        let stored = store::runs::last_heartbeat(self.store.read(), run).await?;
        if stored.is_none_or(|at| at < run.last_heartbeat_at) {
            self.rewinds.note_heartbeat(stored.unwrap_or(run.started_at));
        }
        self.take_own_run(run, stored);
        Ok(())
    }

    /// The last heartbeat that this process stored before `limit`. The database has it, unless it has gone back
    /// further.
    pub(crate) fn heartbeat_before(&self, limit: Timestamp) -> Option<Timestamp> {
        let runs = self.runs();
        let known =
            [runs.own.map(|run| run.last_heartbeat_at), runs.earlier_heartbeat, runs.own.map(|run| run.started_at)];
        known.into_iter().flatten().find(|at| *at <= limit)
    }

    /// Sets the last heartbeat of the run, unless another task has begun another run since; `None` means that the run
    /// is not stored.
    fn take_own_run(&self, run: ServiceRun, last_heartbeat_at: Option<Timestamp>) {
        let mut runs = self.runs();
        if runs.own == Some(run) {
            runs.earlier_heartbeat =
                Some(run.last_heartbeat_at).filter(|at| last_heartbeat_at.is_some_and(|last| last > *at));
            runs.own = last_heartbeat_at.map(|last_heartbeat_at| ServiceRun { last_heartbeat_at, ..run });
        }
    }

    async fn watch_clock(&self) -> Result<Option<ClockSkew>> {
        let known = store::clock::read(self.store.read()).await?;
        self.load_override(&known).await?;
        let doubt = self.clock.settle();
        if let Some(doubt) = doubt {
            self.pause_jobs(doubt);
            if known.held.is_none() {
                let held = WrongReading { wall: doubt.wall, reference: doubt.reference, by: Some(self.id) };
                store::clock::store_wrong_reading(self.store.write(), held).await?;
            }
            return Ok(Some(doubt));
        }
        self.health.end(UNTRUSTED_CODE);
        // The clock of another process may still be doubted. Time that was trusted throughout passes its reading.
        let is_over = |held: WrongReading| held.by == Some(self.id) || held.wall <= self.clock.now();
        if known.held.is_some_and(is_over) {
            store::clock::release(self.store.write()).await?;
        }
        Ok(None)
    }

    fn pause_jobs(&self, doubt: ClockSkew) {
        let condition = HealthCondition { code: UNTRUSTED_CODE, detail: doubt.detail(), refuses_writes: false };
        self.health.begin(condition, self.clock.now());
    }

    /// Reads an admin's decision that the clock is right, which another process may have stored, such as the command
    /// line.
    async fn load_override(&self, known: &ClockRecord) -> Result<()> {
        if self.runs().trust_revision == known.revision {
            return Ok(());
        }
        let same_clock = |at: Timestamp| (self.clock.raw().micros() - at.micros()).abs() <= MAX_DIFFERENCE_MICROS;
        if known.trusted_at.is_some_and(same_clock) {
            self.clock.trust();
        }
        self.read_runs_again(known.revision).await
    }

    /// Reads the runs again after an admin's decision, because runs in the future have been removed.
    async fn read_runs_again(&self, trust_revision: TaggedRevision) -> Result<()> {
        let stored = store::runs::list(self.store.read()).await?;
        let mut runs = self.runs();
        runs.own = runs
            .own
            .and_then(|own| stored.iter().find(|run| (run.id, run.started_at) == (own.id, own.started_at)).copied());
        let first_of_own = runs.own.map_or(Timestamp::MAX, |own| own.started_at);
        let own = runs.own.map(|own| own.id);
        runs.earlier = stored.into_iter().filter(|r| Some(r.id) != own && r.started_at <= first_of_own).collect();
        runs.trust_revision = trust_revision;
        Ok(())
    }

    /// Refuses an operation that must not happen at a wrong time.
    pub fn check_clock(&self) -> Result<()> {
        match self.clock.doubt() {
            None => Ok(()),
            Some(doubt) => Err(Error::not_now(UNTRUSTED_CODE, doubt.detail())),
        }
    }

    /// Stores an admin's decision that the clock is right. Rows of future times are removed; the next run of each group
    /// takes back what it recorded of them.
    #[tracing::instrument(
        name = "engine.upkeep.clock_trust.trust_clock",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub(crate) async fn trust_clock(&self, author: &AuditAuthor, reason: Option<String>) -> Result<ClockOverride> {
        let trusted = ClockOverride { trusted_at: self.clock.raw(), doubt: self.clock.doubt() };
        let tx = self.store.begin().await?;
        store::runs::cut_off_runs(&tx, trusted.trusted_at).await?;
        let revision = store::clock::store_trust(&tx, trusted.trusted_at).await?;
        let change = AuditedChange {
            action: "clock.trust",
            target: "clock".to_owned(),
            before: trusted.doubt.map(describe_skew),
            after: Some(json!({"trusted_at": trusted.trusted_at})),
            reason,
        };
        audit::write(&tx, author, change, None, trusted.trusted_at).await?;
        tx.commit().await.map_err(store::StoreError::from)?;
        self.clock.trust();
        self.health.end(UNTRUSTED_CODE);
        self.read_runs_again(revision).await?;
        Ok(trusted)
    }

    pub(crate) fn started_at(&self) -> Option<Timestamp> {
        self.runs().own.map(|run| run.started_at)
    }

    /// The times of at least `micros` microseconds in which no process served.
    pub(crate) fn downtimes(&self, micros: u64) -> Vec<TimeSpan> {
        // For a process that does not serve, such as the command line, the service is down until now.
        let until = self.started_at().unwrap_or_else(|| self.clock.now());
        times_between_runs(&self.runs().earlier, until).into_iter().filter(|d| d.micros() >= micros).collect()
    }

    fn runs(&self) -> MutexGuard<'_, ServiceRuns> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn describe_skew(doubt: ClockSkew) -> Value {
    json!({"clock": doubt.wall, "reference": doubt.reference})
}

/// The times that no run covers, from the first run on.
fn times_between_runs(runs: &[ServiceRun], now: Timestamp) -> Vec<TimeSpan> {
    let mut covered: Option<Timestamp> = None;
    let mut gaps = Vec::new();
    let starts = runs.iter().map(|r| (r.started_at, r.last_heartbeat_at)).chain([(now, now)]);
    for (start, end) in starts {
        gaps.extend(covered.and_then(|c| TimeSpan::new(c, start)));
        covered = Some(covered.map_or(end, |c| c.max(end)));
    }
    gaps
}
