//! Groups that another server has made a moment ago.
//!
//! Every server looks for new groups once a second. A client that has made a group on one server and asks another about it
//! must not be refused in this second. Therefore a request for a group that is not known has the database read once before it
//! is refused. Names that are invented must not become a load: all requests that wait share one read of all names, and there
//! is a pause between two reads.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::service::{Caller, Result, Service};
use crate::store;

/// The least time from one read to the next.
const PAUSE: Duration = Duration::from_millis(100);

/// When the last read began. The lock is held by the request that reads.
#[derive(Debug, Default)]
pub struct GroupArrivals(Mutex<Option<Instant>>);

impl Service {
    /// True for a group that this server does not know, and that the caller's key reaches.
    pub fn may_be_new(&self, caller: &Caller, group: &str) -> bool {
        caller.reaches(group) && self.published.get(group).is_none()
    }

    /// Publishes the groups that other servers have made until now.
    #[tracing::instrument(name = "service.group.arrivals.publish_new_groups", level = "debug", skip_all)]
    pub async fn publish_new_groups(self: &Arc<Self>) {
        let asked_at = Instant::now();
        let mut last = self.arrivals.0.lock().await;
        if last.is_some_and(|began_at| began_at >= asked_at) {
            return;
        }
        if let Some(began_at) = *last {
            tokio::time::sleep_until(began_at + PAUSE).await;
        }
        *last = Some(Instant::now());
        // Without the database, memory is all there is, and the request is answered from it.
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
