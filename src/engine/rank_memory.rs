//! The ranks of the day before, in memory. Those of each group are read once a day, while the first answer that shows
//! them is made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::domain::ids::{GroupKey, Owner};
use crate::domain::maps::FastMap;
use crate::domain::time::Day;
use crate::engine::error::{Error, Result};
use crate::store::{self, Store};

/// The ranks at the end of a day.
pub type RanksByOwner = FastMap<Owner, u32>;

/// The time that answers wait for a read that has begun. Rankings are also answered while the database is unavailable.
const READ_TIMEOUT: Duration = Duration::from_millis(300);

/// The pause after a failed read before the next one begins.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// The result of a read, shared by all requests that wait for it.
type SharedRead = Shared<BoxFuture<'static, Result<Arc<RanksByOwner>>>>;

struct RankEntry {
    day: Day,
    asked_at: Instant,
    reading: SharedRead,
}

impl RankEntry {
    fn has_failed(&self) -> bool {
        matches!(self.reading.peek(), Some(Err(_)))
    }
}

/// The ranks of the day before, by group.
#[derive(Default)]
pub struct RankMemory(Mutex<FastMap<GroupKey, RankEntry>>);

impl RankMemory {
    fn lock(&self) -> MutexGuard<'_, FastMap<GroupKey, RankEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ranks at the end of `day`, unless they are not available soon.
    pub async fn read_within_timeout(&self, store: &Store, group: GroupKey, day: Day) -> Option<Arc<RanksByOwner>> {
        let (reading, asked_at) = self.reading(store, group, day);
        if let Some(read) = reading.peek() {
            return read.as_ref().ok().cloned();
        }
        tokio::time::timeout_at(asked_at + READ_TIMEOUT, reading).await.ok()?.ok()
    }

    /// The ranks at the end of `day`.
    pub async fn get(&self, store: &Store, group: GroupKey, day: Day) -> Result<Arc<RanksByOwner>> {
        self.reading(store, group, day).0.await
    }

    /// Discards the group's ranks, so that the next request reads them again.
    pub fn forget(&self, group: GroupKey) {
        self.lock().remove(&group);
    }

    /// Frees the ranks of groups that no longer exist.
    pub fn keep_only(&self, is_there: impl Fn(GroupKey) -> bool) {
        self.lock().retain(|group, _| is_there(*group));
    }

    fn reading(&self, store: &Store, group: GroupKey, day: Day) -> (SharedRead, Instant) {
        let mut entries = self.lock();
        let now = Instant::now();
        let known = entries.get(&group).filter(|entry| {
            entry.day == day && !(entry.has_failed() && now.duration_since(entry.asked_at) >= RETRY_PAUSE)
        });
        if let Some(entry) = known {
            return (entry.reading.clone(), entry.asked_at);
        }
        let reading = read(store.clone(), group, day);
        entries.insert(group, RankEntry { day, asked_at: now, reading: reading.clone() });
        (reading, now)
    }
}

/// Reads in a separate task, which continues even if no request waits any more.
fn read(store: Store, group: GroupKey, day: Day) -> SharedRead {
    let task = tokio::spawn(async move {
        let read = store::share_days::load_ranks(store.read(), group, day).await;
        read.inspect_err(|error| tracing::warn!(%error, "the ranks of the day before could not be read"))
    });
    let ranks = async {
        let read = task.await.map_err(|error| Error::internal(format!("a reading of ranks ended early: {error}")))?;
        Ok(Arc::new(read?.into_iter().collect()))
    };
    ranks.boxed().shared()
}
