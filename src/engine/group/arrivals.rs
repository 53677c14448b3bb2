//! Groups that another server created a moment ago.
//!
//! Every server looks for new groups once a second. A client that has created a group on one server and asks another one
//! about it must not be refused during this second. Therefore the database is read once before a request for an unknown
//! group is refused. Requests for invented names must not load the database: all requests that wait share one read of all
//! names, and there is a pause between two reads.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::engine::FairShareEngine;
use crate::engine::error::Result;
use crate::store;

/// The least time between the beginnings of two reads.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(100);

/// The time at which the last read began. The request that reads holds the lock.
#[derive(Debug, Default)]
pub struct GroupArrivals(Mutex<Option<Instant>>);

impl FairShareEngine {
    /// True for a group that this server knows.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.published.get(group).is_some()
    }

    /// Publishes the groups that other servers have created by now.
    #[tracing::instrument(name = "engine.group.arrivals.publish_new_groups", level = "debug", skip_all)]
    pub(crate) async fn publish_new_groups(&self) {
        let asked_at = Instant::now();
        let mut last = self.arrivals.0.lock().await;
        if last.is_some_and(|began_at| began_at >= asked_at) {
            return;
        }
        if let Some(began_at) = *last {
            tokio::time::sleep_until(began_at + MIN_READ_INTERVAL).await;
        }
        *last = Some(Instant::now());
        // Without the database, the request is answered from memory.
        if let Err(error) = self.load_new_groups().await {
            tracing::debug!(%error, "new groups could not be read");
        }
    }

    async fn load_new_groups(&self) -> Result<()> {
        self.people.sync(self.store.read()).await?;
        let known = self.published.all();
        let stored = store::groups::revisions(self.store.read()).await?;
        for name in stored.keys().filter(|name| !known.contains_key(name.as_str())) {
            let mut slot = self.slot(name).lock_owned().await;
            if self.published.get(name).is_none() {
                self.reload(self.store.read(), name, &mut slot).await?;
            }
        }
        Ok(())
    }
}
