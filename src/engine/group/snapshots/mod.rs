//! Snapshots: the immutable state of each resource group that readers see.
//!
//! Readers must neither wait for writers nor see a mixture of two states. Therefore every commit builds the next snapshot of
//! the group and swaps it in as a whole. A request holds one snapshot for as long as it works; it needs no lock and, mostly,
//! no SQL.
//!
//! A snapshot has data and derived values. The data (`snapshot_data.rs`) is built with each commit: shares with ranks, queues,
//! capacity, and sums over kernels. Derived values (`derived_values.rs`) are calculated when a request first needs them and then
//! shared: the division, entitlements, the cluster for plans, and serialised answers.
//!
//! A snapshot is not the working state: writers change the state under the group's lock, and the snapshot follows from it.
//! It holds no buckets either; requests that need them read the database.
//!
//! Invariants:
//! - A snapshot belongs to one revision and is never changed, except that derived values are filled in.
//! - Rows that did not change are shared with the snapshot before, so that a write costs memory and time for its changes
//!   only.
//! - Snapshots of a group are put in the order of its commits.
//!
//! See "The snapshot" in ARCHITECTURE.

mod accounts;
pub mod answers;
mod by_user;
pub mod cluster;
pub mod comparison;
pub mod derived_values;
pub mod division;
pub mod entitlements;
pub mod normalized_days;
pub mod profile;
pub mod rows;
pub mod snapshot_data;
pub mod tree_shares;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use self::derived_values::DerivedValues;
use self::division::SnapshotDivision;
use self::entitlements::SnapshotEntitlements;
use self::rows::RankedRows;
use self::snapshot_data::GroupSnapshotData;
use super::live_kernels::LiveKernels;
use super::state::GroupState;
use crate::domain::ids::Owner;
use crate::domain::time::{Day, Timestamp};
use crate::engine::error::Result;
use crate::engine::people::PeopleDirectory;

/// The snapshot of one resource group: its data as of one revision, and the values that were derived from it so far.
#[derive(Debug)]
pub struct GroupSnapshot {
    pub facts: GroupSnapshotData,
    pub live: DerivedValues,
}

impl GroupSnapshot {
    pub fn build(state: &GroupState, people: &PeopleDirectory, kernels: Option<LiveKernels>) -> Self {
        Self::of(state, RankedRows::build(&state.hierarchy, people), kernels)
    }

    /// [`Self::build`] for a state in which all owners have the same usage as in this snapshot.
    #[must_use]
    pub fn rebuilt(&self, state: &GroupState, people: &PeopleDirectory) -> Self {
        self.with_same_normalized_days(Self::build(state, people, None))
    }

    /// The snapshot that follows this one when the shares of `moved` have changed and no others.
    #[must_use]
    pub fn after(
        &self,
        moved: &[Owner],
        state: &GroupState,
        people: &PeopleDirectory,
        kernels: Option<LiveKernels>,
    ) -> Self {
        self.with_same_normalized_days(Self::of(state, self.facts.rows.after(moved, &state.hierarchy, people), kernels))
    }

    /// Passes the normalised days on, unless usage was calculated since.
    fn with_same_normalized_days(&self, mut next: Self) -> Self {
        next.facts.take_normalized_days_of(&self.facts);
        next
    }

    fn of(state: &GroupState, rows: RankedRows, kernels: Option<LiveKernels>) -> Self {
        Self { facts: GroupSnapshotData::of(state, rows), live: DerivedValues::with(kernels) }
    }

    /// The same shares with new kernels and queues.
    #[must_use]
    pub fn with_queues(&self, state: &GroupState, kernels: Option<LiveKernels>) -> Self {
        let facts = self.facts.with_queues(state);
        let same_are_active = facts.active_changes == self.facts.active_changes;
        let reconfigured = facts.config_revision != self.facts.config_revision;
        let live = if same_are_active {
            DerivedValues::after(&self.live, reconfigured, kernels)
        } else {
            DerivedValues::with(kernels)
        };
        Self { facts, live }
    }

    /// The shares that weights give to all owners; calculated once.
    pub fn entitlements(&self) -> &Arc<SnapshotEntitlements> {
        self.live.entitlements(&self.facts)
    }

    /// The day of the last calculation.
    fn day(&self) -> Option<Day> {
        self.facts.calculation.as_ref().map(|calculation| calculation.lookback_end)
    }

    /// True if `next`, which replaces this snapshot, is of a later day.
    fn is_last_of_its_day(&self, next: &Self) -> bool {
        self.facts.revisions().created_at == next.facts.revisions().created_at
            && self.day().zip(next.day()).is_some_and(|(day, later)| day < later)
    }

    /// The amounts that every queue deserves; calculated once.
    pub fn division(&self, now: Timestamp) -> Result<Arc<SnapshotDivision>> {
        self.live.division(&self.facts, now)
    }
}

pub type GroupSnapshots = BTreeMap<Arc<str>, Arc<GroupSnapshot>>;

/// The snapshots of all groups. Reading never waits.
#[derive(Default)]
pub struct PublishedSnapshots {
    current_snapshots: ArcSwap<GroupSnapshots>,
    /// The last snapshot of each group on a day that is over, until its history is written.
    closing: Mutex<GroupSnapshots>,
}

impl PublishedSnapshots {
    pub fn all(&self) -> Arc<BTreeMap<Arc<str>, Arc<GroupSnapshot>>> {
        self.current_snapshots.load_full()
    }

    pub fn get(&self, name: &str) -> Option<Arc<GroupSnapshot>> {
        self.current_snapshots.load().get(name).cloned()
    }

    pub fn put(&self, group: &Arc<GroupSnapshot>) {
        let name = &group.facts.name;
        let old = self.current_snapshots.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.insert(Arc::clone(name), Arc::clone(group));
            next
        });
        if let Some(last) = old.get(name).filter(|old| old.is_last_of_its_day(group)) {
            self.lock_closing().insert(Arc::clone(name), Arc::clone(last));
        }
    }

    pub fn remove(&self, name: &str) {
        self.current_snapshots.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.remove(name);
            next
        });
        self.lock_closing().remove(name);
    }

    /// The last snapshots of the group on days before `today` whose history is not written yet, the earlier day first.
    pub fn closing_day_rows(&self, name: &str, today: Day) -> Vec<Arc<GroupSnapshot>> {
        let replaced = self.lock_closing().get(name).cloned();
        let shown = self.get(name).filter(|group| group.day().is_some_and(|day| day < today));
        replaced.into_iter().chain(shown).collect()
    }

    /// Forgets the last snapshots of past days.
    pub fn forget_closing(&self) {
        self.lock_closing().clear();
    }

    /// Notes that the history of the snapshot's day is written.
    pub fn closed(&self, group: &Arc<GroupSnapshot>) {
        let mut closing = self.lock_closing();
        if closing.get(&group.facts.name).is_some_and(|last| Arc::ptr_eq(last, group)) {
            closing.remove(&group.facts.name);
        }
    }

    fn lock_closing(&self) -> MutexGuard<'_, GroupSnapshots> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
