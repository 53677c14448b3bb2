//! The chores of a serving process. Most of them are the engine's; the service forgets what it remembered of requests, and
//! lets an admin trust the clock.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Caller, Result, Service};
use crate::engine::upkeep::clock_trust::ClockOverride;

const FORGET_SEQUENCES_EVERY: Duration = Duration::from_mins(1);

impl Service {
    /// Does the chores of a serving process. Never returns.
    pub async fn keep_up(self: Arc<Self>) {
        tokio::join!(self.engine.keep_up(), self.keep_forgetting_sequences());
    }

    async fn keep_forgetting_sequences(&self) {
        loop {
            sleep(FORGET_SEQUENCES_EVERY).await;
            self.forget_sequences();
            self.forget_cycles();
            self.forget_forecasts();
        }
    }

    /// Publishes groups that another process has changed. Returns their number.
    pub async fn refresh(&self) -> Result<u64> {
        self.engine.refresh().await
    }

    /// True for a group that this server does not know and that is within the reach of the caller's key.
    pub fn may_be_new(&self, caller: &Caller, group: &str) -> bool {
        caller.reaches(group) && !self.engine.has_group(group)
    }

    /// Publishes the groups that other servers have created by now.
    pub async fn publish_new_groups(&self) {
        self.engine.publish_new_groups().await;
    }

    /// Reads all keys and sessions again, so that what another process created or revoked takes effect.
    pub async fn refresh_keys(&self) -> Result<()> {
        self.engine.refresh_keys().await
    }

    /// Stores the times at which keys were last used, if they are not stored yet.
    pub async fn store_key_uses(&self) -> Result<()> {
        self.engine.store_key_uses().await
    }

    /// Loads the data that does not outlast a restart and that fairness metrics need without a read of the database.
    pub async fn load_all_normalized_days(&self) -> Result<()> {
        self.engine.load_all_normalized_days().await
    }

    /// The number of requests whose reports wait to be committed.
    pub fn reports_waiting(&self, group: &str) -> usize {
        self.engine.reports_waiting(group)
    }

    /// The age of the data in answers; `None` while it is less than two seconds and the database answers.
    pub fn data_age(&self) -> Option<Duration> {
        self.engine.data_age()
    }

    /// Marks this process as one that serves. From now on heartbeats record that it is alive.
    pub async fn start_serving(&self) -> Result<()> {
        self.engine.start_serving().await
    }

    /// Compares the clock with the time that has passed, and stores that the service was alive until now.
    pub async fn heartbeat(&self) -> Result<()> {
        self.engine.heartbeat().await
    }

    /// Refuses an operation that must not happen at a wrong time.
    pub fn check_clock(&self) -> Result<()> {
        self.engine.check_clock()
    }

    /// Stores an admin's decision that the clock is right. Rows of future times are removed; the next run of each group
    /// takes back what it recorded of them.
    pub async fn trust_clock(&self, caller: &Caller, reason: Option<String>) -> Result<ClockOverride> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        self.engine.trust_clock(&caller.author(), reason).await
    }

    /// Notes a condition if records of recent days are not in the partition of their day.
    pub async fn watch_partitions(&self) -> Result<()> {
        self.engine.watch_partitions().await
    }

    /// Notes the conditions under which the database takes no writes.
    pub fn note_storage(&self) {
        self.engine.note_storage();
    }

    /// Copies the log of an `SQLite` database into its file.
    pub async fn save_log(&self) {
        self.engine.save_log().await;
    }

    /// Shrinks an `SQLite` file by all free space, while others continue to write.
    pub async fn shrink_file(&self) {
        self.engine.shrink_file().await;
    }
}
