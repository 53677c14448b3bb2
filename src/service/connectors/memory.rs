//! The last comparisons of sequences with the orders of other schedulers. A sequence never waits for the database, so that a
//! comparison stays in memory until the report of its round, which is a write, stores it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::domain::ids::GroupKey;
use crate::domain::time::Timestamp;
use crate::service::access::ClientId;
use crate::service::sequence::agreement::OrderComparison;

/// The number of comparisons that are kept for each group and client. It is more than one, because a client may serve several
/// connectors of a group.
const KEPT_OF_EACH: usize = 4;
/// The largest number of rows, places and owners, of all kept comparisons together.
const MAX_KEPT_ROWS: usize = 200_000;

/// A comparison that was answered.
#[derive(Clone)]
pub struct RememberedComparison {
    pub id: Uuid,
    pub group: GroupKey,
    /// The client that has asked for the sequence.
    pub client: ClientId,
    /// The time at which the order was computed.
    pub taken_at: Timestamp,
    pub comparison: Arc<OrderComparison>,
    /// True once a report of a round has claimed it. It stays, so that a report that is sent again finds no older one in its place.
    pub is_counted: bool,
}

impl RememberedComparison {
    fn rows(&self) -> usize {
        self.comparison.first_places.len() + self.comparison.owners.len()
    }

    fn is_of(&self, group: GroupKey, client: ClientId) -> bool {
        (self.group, self.client) == (group, client)
    }
}

/// The last comparisons of all groups, the oldest first.
#[derive(Default)]
pub struct ComparisonMemory(Mutex<VecDeque<RememberedComparison>>);

impl ComparisonMemory {
    fn lock(&self) -> MutexGuard<'_, VecDeque<RememberedComparison>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a comparison. It replaces the oldest one of its group and client if there are enough, and the oldest ones of all
    /// groups if there is no room.
    pub fn keep(&self, remembered: RememberedComparison) {
        let mut kept = self.lock();
        let (group, client) = (remembered.group, remembered.client);
        let mut alike = kept.iter().enumerate().filter(|(_, one)| one.is_of(group, client));
        if let Some((oldest, _)) = alike.next()
            && alike.count() + 1 >= KEPT_OF_EACH
        {
            kept.remove(oldest);
        }
        kept.push_back(remembered);
        let mut rows: usize = kept.iter().map(RememberedComparison::rows).sum();
        while rows > MAX_KEPT_ROWS
            && let Some(oldest) = kept.pop_front()
        {
            rows -= oldest.rows();
        }
    }

    /// Takes the newest comparison of a group and client for which `is_wanted` holds, of those that no shadow report has and that were
    /// taken after the one with the id `counted`, and not before `since`. From then on no other report finds it. The caller gives
    /// it back with [`ComparisonMemory::give_back`] if it was certainly not stored.
    pub fn claim_newer(
        &self,
        (group, client): (GroupKey, ClientId),
        counted: Option<Uuid>,
        since: Option<Timestamp>,
        is_wanted: impl Fn(&OrderComparison) -> bool,
    ) -> Option<RememberedComparison> {
        let mut kept = self.lock();
        let of_both = kept.iter_mut().rev().filter(|one| one.is_of(group, client));
        // The comparison `counted` may be unknown here, such as after a report to another server. Then only the time shows which
        // comparisons belong to earlier rounds.
        let mut newer =
            of_both.take_while(|one| Some(one.id) != counted && since.is_none_or(|since| one.taken_at >= since));
        let found = newer.find(|one| !one.is_counted && is_wanted(&one.comparison))?;
        found.is_counted = true;
        Some(found.clone())
    }

    /// Forgets the comparisons of a group.
    pub fn forget(&self, group: GroupKey) {
        self.lock().retain(|one| one.group != group);
    }

    /// Lets a comparison be found again that was claimed, but not stored.
    pub fn give_back(&self, id: Uuid) {
        for one in self.lock().iter_mut().filter(|one| one.id == id) {
            one.is_counted = false;
        }
    }
}
