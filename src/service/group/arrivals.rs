//! Groups that another server created a moment ago.
//!
//! Every server looks for new groups once a second. A client that has created a group on one server and asks another one
//! about it must not be refused during this second. Therefore the database is read once before a request for an unknown
//! group is refused. Requests for invented names must not load the database: all requests that wait share one read of all
//! names, and there is a pause between two reads.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::service::{Caller, Result, Service};
use crate::store;

/// The least time between the beginnings of two reads.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(100);

/// The time at which the last read began. The request that reads holds the lock.
#[derive(Debug, Default)]
pub struct GroupArrivals(Mutex<Option<Instant>>);

impl Service {
    /// True for a group that this server does not know and that is within the reach of the caller's key.
    pub fn may_be_new(&self, caller: &Caller, group: &str) -> bool {
        caller.reaches(group) && self.published.get(group).is_none()
    }

    /// Publishes the groups that other servers have created by now.
    #[tracing::instrument(name = "service.group.arrivals.publish_new_groups", level = "debug", skip_all)]
    pub async fn publish_new_groups(self: &Arc<Self>) {
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

    async fn load_new_groups(self: &Arc<Self>) -> Result<()> {
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
