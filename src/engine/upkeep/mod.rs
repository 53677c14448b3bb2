//! The work of a serving process besides requests and jobs: it watches the database, and keeps keys up to date.

pub mod clock_trust;
pub(crate) mod clock_watch;
pub mod health;
mod partitions;
pub(crate) mod rewinds;
mod storage;

use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::upkeep::health::HealthCondition;
use super::work::run_blocking;
use crate::engine::FairShareEngine;
use crate::process::memory;

/// How often keys are read. A key that another process revoked is refused after about this time.
const KEY_READ_INTERVAL: Duration = Duration::from_secs(2);
const TIDY_INTERVAL: Duration = Duration::from_secs(10);
/// The age up to which answers omit it. Memory is compared with the database each second.
const CURRENT_WITHIN: Duration = Duration::from_secs(2);
/// The condition while another program locks a table.
const LOCKED_CODE: &str = "tables_locked";
/// The condition while the database does not answer.
const UNREACHABLE_CODE: &str = "database_unreachable";

impl FairShareEngine {
    /// Watches the database, keeps keys in memory, and stores their uses. Never returns.
    pub(crate) async fn keep_up(&self) {
        tokio::join!(
            self.catch_up(),
            self.store.watch(),
            self.report_availability(),
            self.report_table_locks(),
            self.keep_reading_keys(),
            self.keep_tidy()
        );
    }

    /// Reads what is missing in memory after a start; otherwise the next run would provide it.
    async fn catch_up(&self) {
        if let Err(error) = self.load_all_normalized_days().await {
            tracing::info!(%error, "metrics lack the fairness of groups before their next run");
        }
    }

    /// The age of the data in answers: the time since the start of the last successful comparison with the database.
    /// Later writes of other processes may be missing. `None` while this is less than two seconds and the database
    /// answers.
    pub fn data_age(&self) -> Option<Duration> {
        let silence = self.store.availability().silence();
        let compared_at = *self.compared_at.lock().unwrap_or_else(PoisonError::into_inner);
        let age = compared_at.map(|at| at.elapsed());
        age.filter(|age| silence.is_some() || *age > CURRENT_WITHIN).or(silence)
    }

    /// Notes that memory was compared with the database, in a comparison that began at `began`.
    pub(super) fn note_comparison(&self, began: Instant) {
        *self.compared_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(began);
    }

    async fn report_availability(&self) {
        let mut news = self.store.availability().subscribe();
        loop {
            if self.store.availability().silence().is_some() {
                let detail = "the database does not answer; what is published is answered from memory, and writes are \
                              refused"
                    .to_owned();
                let condition = HealthCondition { code: UNREACHABLE_CODE, detail, refuses_writes: true };
                self.health.begin(condition, self.clock.now());
            } else {
                self.health.end(UNREACHABLE_CODE);
            }
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    async fn report_table_locks(&self) {
        let mut locks = self.store.table_locks().subscribe();
        loop {
            let held = locks.borrow_and_update().clone();
            match held {
                Some(lock) => {
                    let condition =
                        HealthCondition { code: LOCKED_CODE, detail: lock.describe(), refuses_writes: true };
                    self.health.begin(condition, self.clock.now());
                }
                None => self.health.end(LOCKED_CODE),
            }
            if locks.changed().await.is_err() {
                return;
            }
        }
    }

    async fn keep_reading_keys(&self) {
        loop {
            sleep(KEY_READ_INTERVAL).await;
            if let Err(error) = self.refresh_keys().await {
                tracing::debug!(%error, "keys not read");
            }
        }
    }

    /// Separate from reading, because it may wait for other writers. Memory that a run or a large request needed is
    /// released last, so that the writing connection is idle then.
    async fn keep_tidy(&self) {
        loop {
            sleep(TIDY_INTERVAL).await;
            if let Err(error) = self.store_key_uses().await {
                tracing::debug!(%error, "last uses of keys not stored");
            }
            if let Err(error) = self.store.give_back_memory().await {
                tracing::debug!(%error, "connections keep what they have of the database in memory");
            }
            run_blocking(memory::trim);
        }
    }
}
