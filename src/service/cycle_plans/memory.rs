//! The reasons of the newest cycle of each group. Lists and explanations read them, so that a page that is looked at every few
//! seconds does not cost a cycle each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::domain::cycle::{CycleAnswer, CycleWaiting};
use crate::domain::ids::GroupKey;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::engine::group::snapshots::GroupSnapshot;
use crate::service::visible_group::VisibleGroup;

/// The time for which a cycle is used again, in microseconds.
const KEPT_MICROS: i64 = 10 * MICROS_PER_SECOND;
/// The number of kernels up to which a change of the group makes a new cycle necessary at once.
const MAX_KERNELS_AT_ONCE: usize = 5_000;

/// The reasons for which workloads wait, from one cycle.
#[derive(Debug)]
pub struct CycleReasons {
    pub as_of: Timestamp,
    /// The snapshot on which the cycle was run. It may go while the reasons are kept.
    snapshot: Weak<GroupSnapshot>,
    waiting: HashMap<Arc<str>, CycleWaiting>,
}

impl CycleReasons {
    /// The reasons in the answer of a cycle; `None`: there was nothing to run one for.
    pub(super) fn of(group: &VisibleGroup, answer: Option<&CycleAnswer>, as_of: Timestamp) -> Self {
        let by_id = |waiting: &CycleWaiting| (Arc::clone(&waiting.workload_id), waiting.clone());
        let waiting = answer.into_iter().flat_map(|answer| &answer.waiting).map(by_id).collect();
        Self { as_of, snapshot: Arc::downgrade(group.published()), waiting }
    }

    /// The reason why the workload waits; `None`: it does not wait, the cycle would start it, or it was reported since.
    pub fn of_workload(&self, id: &str) -> Option<&CycleWaiting> {
        self.waiting.get(id)
    }

    /// True if a list of the group may still show the reasons.
    pub(super) fn are_usable(&self, group: &VisibleGroup, kernels: usize, now: Timestamp) -> bool {
        let age = now.micros().saturating_sub(self.as_of.micros());
        let is_same = self.snapshot.ptr_eq(&Arc::downgrade(group.published()));
        (0..=KEPT_MICROS).contains(&age) && (is_same || kernels > MAX_KERNELS_AT_ONCE)
    }
}

/// The newest reasons of one group. The lock is held while a cycle runs, so that requests share it.
pub(super) type NewestReasons = Arc<tokio::sync::Mutex<Option<Arc<CycleReasons>>>>;

/// The newest reasons of all groups.
#[derive(Default)]
pub struct CycleMemory(Mutex<HashMap<GroupKey, NewestReasons>>);

impl CycleMemory {
    /// Keeps the reasons, unless there are newer ones.
    pub(super) async fn keep(&self, group: &VisibleGroup, reasons: CycleReasons) {
        let newest = self.of_group(group);
        let mut newest = newest.lock().await;
        if newest.as_ref().is_none_or(|known| known.as_of <= reasons.as_of) {
            *newest = Some(Arc::new(reasons));
        }
    }

    pub(super) fn of_group(&self, group: &VisibleGroup) -> NewestReasons {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(groups.entry(group.key).or_default())
    }

    /// Frees the reasons of cycles that are too old, and of groups that are gone.
    pub fn forget(&self, now: Timestamp) {
        let is_kept = |newest: &NewestReasons| match newest.try_lock() {
            Ok(newest) => {
                newest.as_ref().is_some_and(|known| now.micros().saturating_sub(known.as_of.micros()) <= KEPT_MICROS)
            }
            // A cycle runs just now.
            Err(_) => true,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, newest| is_kept(newest));
    }
}
