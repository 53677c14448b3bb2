//! What readers see: one immutable picture of each resource group, swapped whole.

mod accounts;
pub mod answers;
mod by_user;
pub mod cluster;
pub mod contest;
pub mod division;
pub mod entitlements;
pub mod facts;
pub mod live;
pub mod normalized_days;
pub mod profile;
pub mod rows;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use self::division::Division;
use self::entitlements::Entitlements;
use self::facts::GroupSnapshotData;
use self::live::DerivedValues;
use self::rows::Rows;
use super::live_kernels::LiveKernels;
use super::state::GroupState;
use crate::domain::ids::Owner;
use crate::domain::time::{Day, Timestamp};
use crate::service::Result;
use crate::service::people::Directory;

/// The picture of one resource group: its facts as of one revision, and what was computed from them so far.
#[derive(Debug)]
pub struct GroupSnapshot {
    pub facts: GroupSnapshotData,
    pub live: DerivedValues,
}

impl GroupSnapshot {
    pub fn build(state: &GroupState, people: &Directory, kernels: Option<LiveKernels>) -> Self {
        Self::of(state, Rows::build(&state.hierarchy, people), kernels)
    }

    /// [`Self::build`] for a state in which everybody has used what they have in this picture.
    #[must_use]
    pub fn rebuilt(&self, state: &GroupState, people: &Directory) -> Self {
        self.with_same_normalized_days(Self::build(state, people, None))
    }

    /// The picture that follows this one when the shares of `moved` have changed and no others.
    #[must_use]
    pub fn after(&self, moved: &[Owner], state: &GroupState, people: &Directory, kernels: Option<LiveKernels>) -> Self {
        self.with_same_normalized_days(Self::of(state, self.facts.rows.after(moved, &state.hierarchy, people), kernels))
    }

    /// Hands on where the normalised days are, unless something was calculated since.
    fn with_same_normalized_days(&self, mut next: Self) -> Self {
        next.facts.take_normalized_days_of(&self.facts);
        next
    }

    fn of(state: &GroupState, rows: Rows, kernels: Option<LiveKernels>) -> Self {
        Self { facts: GroupSnapshotData::of(state, rows), live: DerivedValues::with(kernels) }
    }

    /// The same picture with new occupancy and queues.
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

    /// What weights entitle everyone to; computed once.
    pub fn entitlements(&self) -> &Arc<Entitlements> {
        self.live.entitlements(&self.facts)
    }

    /// The day of the last calculation.
    fn day(&self) -> Option<Day> {
        self.facts.calculation.as_ref().map(|calculation| calculation.lookback_end)
    }

    /// Whether `next`, which takes its place, is of a later day.
    fn is_last_of_its_day(&self, next: &Self) -> bool {
        self.facts.revisions().created_at == next.facts.revisions().created_at
            && self.day().zip(next.day()).is_some_and(|(day, later)| day < later)
    }

    /// What every queue deserves now; computed once.
    pub fn division(&self, now: Timestamp) -> Result<Arc<Division>> {
        self.live.division(&self.facts, now)
    }
}

pub type Pictures = BTreeMap<Arc<str>, Arc<GroupSnapshot>>;

/// All groups' pictures. Reading never waits.
#[derive(Default)]
pub struct Published {
    pictures: ArcSwap<Pictures>,
    /// The last pictures of a day that is over, until its history is written.
    closing: Mutex<Pictures>,
}

impl Published {
    pub fn all(&self) -> Arc<BTreeMap<Arc<str>, Arc<GroupSnapshot>>> {
        self.pictures.load_full()
    }

    pub fn get(&self, name: &str) -> Option<Arc<GroupSnapshot>> {
        self.pictures.load().get(name).cloned()
    }

    pub fn put(&self, group: &Arc<GroupSnapshot>) {
        let name = &group.facts.name;
        let old = self.pictures.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.insert(Arc::clone(name), Arc::clone(group));
            next
        });
        if let Some(last) = old.get(name).filter(|old| old.is_last_of_its_day(group)) {
            self.lock_closing().insert(Arc::clone(name), Arc::clone(last));
        }
    }

    pub fn remove(&self, name: &str) {
        self.pictures.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.remove(name);
            next
        });
        self.lock_closing().remove(name);
    }

    /// The last pictures that a group had on days before `today` whose history is to be written, the earlier day first.
    pub fn closing(&self, name: &str, today: Day) -> Vec<Arc<GroupSnapshot>> {
        let replaced = self.lock_closing().get(name).cloned();
        let shown = self.get(name).filter(|group| group.day().is_some_and(|day| day < today));
        replaced.into_iter().chain(shown).collect()
    }

    /// Forgets the last pictures of past days.
    pub fn forget_closing(&self) {
        self.lock_closing().clear();
    }

    /// The history of the picture's day is written.
    pub fn closed(&self, group: &Arc<GroupSnapshot>) {
        let mut closing = self.lock_closing();
        if closing.get(&group.facts.name).is_some_and(|last| Arc::ptr_eq(last, group)) {
            closing.remove(&group.facts.name);
        }
    }

    fn lock_closing(&self) -> MutexGuard<'_, Pictures> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
