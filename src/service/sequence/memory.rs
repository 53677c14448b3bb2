//! The last sequences of each group, kept so that a later request can ask why a workload waits. Each is kept as its
//! request and its snapshot, from which the same order can be computed again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::domain::time::{MICROS_PER_MINUTE, Timestamp};
use crate::engine::work::drop_in_background;
use crate::service::visible_group::VisibleGroup;

/// The time for which a sequence is kept, in microseconds.
const KEPT_MICROS: i64 = 10 * MICROS_PER_MINUTE;
/// The number of sequences that are kept for each group. It is more than one, because several schedulers may serve a
/// group.
pub const KEPT_OF_EACH: usize = 4;
/// The largest size of all kept requests together, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// A sequence that was answered.
#[derive(Clone)]
pub struct RememberedSequence {
    pub at: Timestamp,
    pub group: VisibleGroup,
    pub request: Bytes,
}

impl RememberedSequence {
    /// True if this is the only owner of the snapshot, so that dropping it frees the snapshot.
    fn holds_alone(&self) -> bool {
        Arc::strong_count(self.group.published()) == 1
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        now.micros().saturating_sub(self.at.micros()) <= KEPT_MICROS
    }
}

/// The last sequences of all groups, the oldest first.
#[derive(Default)]
pub struct SequenceMemory(Mutex<VecDeque<Arc<RememberedSequence>>>);

impl SequenceMemory {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<RememberedSequence>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a sequence, unless it alone is too large. It replaces the oldest one of its group if there are enough, and
    /// the oldest ones of all groups if there is no room.
    pub fn keep(&self, remembered: RememberedSequence) {
        if remembered.request.len() > MAX_KEPT_BYTES {
            return;
        }
        let mut kept = self.lock();
        // Replaced sequences are freed after the lock is released, so that no other request waits for that.
        let mut freed = Vec::new();
        let mut of_group = kept.iter().enumerate().filter(|(_, one)| one.group.name == remembered.group.name);
        if let Some((oldest, _)) = of_group.next()
            && of_group.count() + 1 >= KEPT_OF_EACH
        {
            freed.extend(kept.remove(oldest));
        }
        kept.push_back(Arc::new(remembered));
        let mut bytes: usize = kept.iter().map(|one| one.request.len()).sum();
        while bytes > MAX_KEPT_BYTES
            && let Some(oldest) = kept.pop_front()
        {
            bytes -= oldest.request.len();
            freed.push(oldest);
        }
        drop(kept);
        // Freeing a snapshot takes milliseconds, and no request should wait for that.
        if freed.iter().any(|one| one.holds_alone()) {
            drop_in_background(freed);
        }
    }

    /// The last sequences of the group, the newest first.
    pub fn last(&self, group: &VisibleGroup, now: Timestamp) -> Vec<Arc<RememberedSequence>> {
        let kept = self.lock();
        // A group of the same name may have been deleted and created again.
        let of_group = kept
            .iter()
            .rev()
            .filter(|one| one.group.name == group.name && one.group.key == group.key && one.is_fresh(now));
        of_group.cloned().collect()
    }

    /// Frees sequences that are too old.
    pub fn forget(&self, now: Timestamp) {
        self.lock().retain(|kept| kept.is_fresh(now));
    }
}
