//! The last sequences of each group, so that it can be told later why a workload waits. What is kept is the request and the
//! picture that it was answered from: the same order follows from them again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::domain::time::{MICROS_PER_MINUTE, Timestamp};
use crate::service::group::visible::VisibleGroup;
use crate::service::work::free_aside;

/// For so long a sequence is kept, in microseconds.
const KEPT: i64 = 10 * MICROS_PER_MINUTE;
/// So many are kept of each group: several schedulers may start what waits there.
pub const KEPT_OF_EACH: usize = 4;
/// Bytes of all requests that are kept.
const MOST_BYTES: usize = 64 << 20;

/// A sequence that was answered.
#[derive(Clone)]
pub struct Remembered {
    pub at: Timestamp,
    pub group: VisibleGroup,
    pub request: Bytes,
}

impl Remembered {
    /// Whether this alone holds the picture, so that the picture goes with it.
    fn holds_alone(&self) -> bool {
        Arc::strong_count(self.group.published()) == 1
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        now.micros().saturating_sub(self.at.micros()) <= KEPT
    }
}

/// The last sequences of all groups, the oldest first.
#[derive(Default)]
pub struct Memory(Mutex<VecDeque<Arc<Remembered>>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Remembered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one more, unless it alone is too large. The oldest of its group goes, and the oldest of all where there is no room.
    pub fn keep(&self, remembered: Remembered) {
        if remembered.request.len() > MOST_BYTES {
            return;
        }
        let mut kept = self.lock();
        // What goes is freed once the lock is released, so that no other request waits for that.
        let mut freed = Vec::new();
        let mut of_group = kept.iter().enumerate().filter(|(_, one)| one.group.name == remembered.group.name);
        if let Some((oldest, _)) = of_group.next()
            && of_group.count() + 1 >= KEPT_OF_EACH
        {
            freed.extend(kept.remove(oldest));
        }
        kept.push_back(Arc::new(remembered));
        let mut bytes: usize = kept.iter().map(|one| one.request.len()).sum();
        while bytes > MOST_BYTES
            && let Some(oldest) = kept.pop_front()
        {
            bytes -= oldest.request.len();
            freed.push(oldest);
        }
        drop(kept);
        // To free a picture takes milliseconds, for which no request should wait.
        if freed.iter().any(|one| one.holds_alone()) {
            free_aside(freed);
        }
    }

    /// The last sequences of the group, the newest first.
    pub fn last(&self, group: &VisibleGroup, now: Timestamp) -> Vec<Arc<Remembered>> {
        let kept = self.lock();
        // A group of the same name may have been made anew.
        let of_group = kept
            .iter()
            .rev()
            .filter(|one| one.group.name == group.name && one.group.key == group.key && one.is_fresh(now));
        of_group.cloned().collect()
    }

    /// Frees what is too old.
    pub fn forget(&self, now: Timestamp) {
        self.lock().retain(|kept| kept.is_fresh(now));
    }
}
