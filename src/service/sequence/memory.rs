//! The last sequence of each group, so that it can be told later why a workload waits. What is kept is the request and the picture
//! that it was answered from: the same order follows from them again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::domain::time::{MICROS_PER_MINUTE, Timestamp};
use crate::service::group::visible::VisibleGroup;

/// For so long a sequence is kept, in microseconds.
const KEPT: i64 = 10 * MICROS_PER_MINUTE;
/// Bytes of all requests that are kept.
const MOST_BYTES: usize = 64 << 20;

/// A sequence that was answered.
#[derive(Clone)]
pub struct Remembered {
    pub at: Timestamp,
    pub group: VisibleGroup,
    pub request: Bytes,
}

/// The last sequences, by group.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<Arc<str>, Arc<Remembered>>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<Remembered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the last sequence of its group. The oldest of others go where there is no room.
    pub fn keep(&self, remembered: Remembered) {
        if remembered.request.len() > MOST_BYTES {
            self.lock().remove(&remembered.group.name);
            return;
        }
        let name = Arc::clone(&remembered.group.name);
        let mut kept = self.lock();
        // What is replaced is freed when nobody waits for the lock any more.
        let mut freed = Vec::from_iter(kept.insert(name, Arc::new(remembered)));
        let mut bytes: usize = kept.values().map(|one| one.request.len()).sum();
        while bytes > MOST_BYTES {
            let oldest = kept.iter().min_by_key(|(_, one)| one.at).map(|(name, _)| Arc::clone(name));
            let Some(gone) = oldest.and_then(|name| kept.remove(&name)) else { break };
            bytes -= gone.request.len();
            freed.push(gone);
        }
        drop(kept);
    }

    pub fn last(&self, group: &VisibleGroup, now: Timestamp) -> Option<Arc<Remembered>> {
        let kept = self.lock().get(&group.name).cloned();
        // A group of the same name may have been made anew.
        kept.filter(|kept| is_fresh(kept, now) && kept.group.key == group.key)
    }

    /// Frees what is too old.
    pub fn forget(&self, now: Timestamp) {
        self.lock().retain(|_, kept| is_fresh(kept, now));
    }
}

fn is_fresh(kept: &Remembered, now: Timestamp) -> bool {
    now.micros().saturating_sub(kept.at.micros()) <= KEPT
}
