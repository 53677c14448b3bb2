//! The engine: what this process has in memory, and how it changes.
//!
//! The database is the truth, and reading it for every request would take too long. So the engine keeps the resource groups,
//! the people and the keys of the database in memory, and publishes an immutable snapshot of each group. There is one way to
//! change a group, its transaction, which commits to the database first and publishes after it. Reports of kernels, runs of
//! jobs and the requests of admins all go through it.
//!
//! The engine knows no rights. `service` is the layer above: it decides who may see or change something, calls the engine, and
//! passes the author of a change for the audit log ([`audit::AuditAuthor`]). Layers above `service` may name types of the
//! engine, such as the rows of a snapshot; only `service` has an [`FairShareEngine`] to call.
//!
//! Invariants:
//! - What is in memory belongs to one revision of the database, and is read again when the database has another one
//!   ([`FairShareEngine::refresh`]), also after the database has gone back to an earlier state (`upkeep::rewinds`).
//! - Only the holder of a group's slot writes the group in this process, publishes it or removes it.
//! - What is only remembered of requests, such as the last sequences, is not here but in `service`.
//!
//! See "The snapshot" and "A write" in ARCHITECTURE.

pub mod accounting;
pub mod audit;
pub(crate) mod day_history;
pub mod error;
pub mod group;
pub mod ingest;
pub(crate) mod keys;
pub mod leases;
pub mod people;
pub mod rank_memory;
pub(crate) mod start;
pub mod upkeep;
pub mod work;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use accounting::purge::KEEP_BUCKETS_DAYS;
use error::{Error, Result};
use group::arrivals::GroupArrivals;
use group::calculate::ClockMoment;
use group::locked::LockedElsewhere;
use group::snapshots::{GroupSnapshot, PublishedSnapshots};
use group::state::GroupState;
use ingest::batch::CommitQueues;
use keys::sessions::SessionTable;
use keys::table::KeyTable;
use people::{CurrentDirectory, PeopleDirectory};
use rank_memory::RankMemory;
use tokio::time::Instant;
use upkeep::clock_trust::ServiceRuns;
use upkeep::clock_watch::ClockWatch;
use upkeep::health::{HealthCondition, ServiceHealth};
use upkeep::rewinds::RewindWatch;
use uuid::Uuid;

use crate::domain::clock::Clock;
use crate::domain::ids::GroupKey;
use crate::domain::maps::FastSet;
use crate::domain::time::Timestamp;
use crate::store::{self, ConnectionTrait, Store, StreamTrait};

type Slot = Arc<tokio::sync::Mutex<Option<GroupState>>>;
type SlotGuard = tokio::sync::OwnedMutexGuard<Option<GroupState>>;

/// The state of this process over one database. It lives as long as the process.
pub struct FairShareEngine {
    pub(crate) store: Store,
    pub(crate) clock: ClockWatch,
    pub(crate) published: PublishedSnapshots,
    slots: Mutex<HashMap<String, Slot>>,
    locked_elsewhere: LockedElsewhere,
    arrivals: GroupArrivals,
    /// Reports that wait to be committed.
    lines: CommitQueues,
    /// Identifies this process where the database distinguishes processes.
    id: Uuid,
    /// The start of the last successful comparison with the database; `None` if this process does not serve.
    compared_at: Mutex<Option<Instant>>,
    /// The times at which the service ran.
    runs: Mutex<ServiceRuns>,
    pub(crate) keys: KeyTable,
    /// The sessions of the web pages.
    pub(crate) sessions: SessionTable,
    pub(crate) people: CurrentDirectory,
    /// The number of days for which usage is kept.
    keep_buckets_days: OnceLock<u32>,
    pub(crate) previous_ranks: RankMemory,
    /// Signs that the database has gone back to an earlier state.
    rewinds: RewindWatch,
    /// The present conditions of the service.
    pub(crate) health: Arc<ServiceHealth>,
}

impl FairShareEngine {
    /// The present time, or the latest time that has certainly come while the clock is doubted.
    pub(crate) fn trusted_now(&self) -> Timestamp {
        self.clock.trusted_time()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    /// `now`, or the latest time that has certainly come while the clock is doubted.
    pub(crate) fn trusted_time(&self, now: Timestamp) -> Timestamp {
        self.clock.doubt().map_or(now, |doubt| doubt.reference)
    }

    /// The present moment, as sessions use it.
    pub(crate) fn moment(&self) -> ClockMoment {
        let now = self.clock.now();
        ClockMoment { now, trusted_time: self.trusted_time(now), started_at: self.started_at() }
    }

    /// The number of days for which usage is kept.
    pub(crate) fn keep_buckets_days(&self) -> u32 {
        self.keep_buckets_days.get().copied().unwrap_or(KEEP_BUCKETS_DAYS)
    }

    /// Sets the number of days for which usage is kept; only once.
    pub(crate) fn set_keep_buckets_days(&self, days: u32) {
        if self.keep_buckets_days.set(days).is_err() {
            tracing::warn!("for how many days usage is kept is said twice");
        }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The snapshot of the group `name`.
    pub(crate) fn published_group(&self, name: &str) -> Result<Arc<GroupSnapshot>> {
        self.published.get(name).ok_or_else(|| Error::unknown_group(name))
    }

    /// All groups by name.
    pub(crate) fn published_groups(&self) -> Vec<Arc<GroupSnapshot>> {
        self.published.all().values().cloned().collect()
    }

    /// The number of requests whose reports wait to be committed.
    pub(crate) fn reports_waiting(&self, group: &str) -> usize {
        self.lines.waiting(group)
    }

    /// All domains, projects and users of the server.
    pub(crate) fn people(&self) -> Arc<PeopleDirectory> {
        self.people.read()
    }

    /// Publishes groups that another process has changed. Returns their number.
    #[tracing::instrument(name = "engine.refresh", level = "debug", skip_all, err(level = "debug"))]
    pub(crate) async fn refresh(&self) -> Result<u64> {
        let (began, mut changed) = (Instant::now(), 0);
        self.people.sync(self.store.read()).await?;
        let known = self.published.all();
        let stored = store::groups::revisions(self.store.read()).await?;
        if self.notice_rewind(&known, &stored).await? {
            changed = self.read_all_again().await?;
            self.note_comparison(began);
            return Ok(changed);
        }
        let gone = known.keys().map(|name| &**name).filter(|name| !stored.contains_key(*name));
        let mut unreadable = None;
        for name in stored.keys().map(String::as_str).chain(gone) {
            if known.get(name).map(|group| group.facts.revisions()) == stored.get(name).map(|now| now.revisions) {
                continue;
            }
            // The task that holds the slot publishes the group itself.
            let Ok(mut slot) = self.slot(name).try_lock_owned() else { continue };
            match self.reload(self.store.read(), name, &mut slot).await {
                Ok(()) => changed += 1,
                // A group with damaged rows keeps no other group from being published.
                Err(Error::Internal { detail, .. }) => {
                    unreadable.get_or_insert(format!("the resource group {name:?} cannot be read: {detail}"));
                }
                Err(error) => return Err(error),
            }
        }
        self.forget_gone_groups();
        // The unreadable group is as old as its last snapshot, and answers say so by their age.
        if unreadable.is_none() {
            self.note_comparison(began);
        }
        self.note_unreadable(unreadable);
        Ok(changed)
    }

    /// Notes the first group that cannot be read, or that all can be read.
    fn note_unreadable(&self, unreadable: Option<String>) {
        const CODE: &str = "group_unreadable";
        match unreadable {
            Some(detail) => {
                self.health.begin(HealthCondition { code: CODE, detail, refuses_writes: false }, self.trusted_now());
            }
            None => self.health.end(CODE),
        }
    }

    /// Publishes the group as it is stored. The slot keeps writers of this process out meanwhile, so that no snapshot
    /// replaces a newer one.
    async fn reload(&self, db: &(impl ConnectionTrait + StreamTrait), name: &str, slot: &mut SlotGuard) -> Result<()> {
        let Some(group) = store::groups::find(db, name).await? else {
            **slot = None;
            self.published.remove(name);
            return Ok(());
        };
        let state = match slot.take() {
            Some(mut state) if state.is_of(&group) => {
                state.catch_up(db, group).await?;
                state
            }
            _ => GroupState::load(db, &self.people, group).await?,
        };
        self.publish(slot, state);
        Ok(())
    }

    /// Publishes the state of a group that was read, and keeps it.
    fn publish(&self, slot: &mut SlotGuard, mut state: GroupState) {
        state.apply_people(&self.people.read());
        let terms = state.weighing_terms();
        state.hierarchy.weigh(terms);
        self.published.put(&Arc::new(GroupSnapshot::build(&state, &self.people.read(), None)));
        **slot = Some(state);
    }

    /// The slot with the state of the group `name`. Only its holder writes the group in this process, publishes it or
    /// removes it.
    fn slot(&self, name: &str) -> Slot {
        Arc::clone(self.lock_slots().entry(name.to_owned()).or_default())
    }

    /// Frees data of groups that no longer exist, except slots that a task holds or waits for.
    fn forget_gone_groups(&self) {
        let known = self.published.all();
        self.lock_slots().retain(|name, slot| known.contains_key(name.as_str()) || Arc::strong_count(slot) > 1);
        let keys: FastSet<GroupKey> = known.values().map(|group| group.facts.key).collect();
        self.previous_ranks.keep_only(|group| keys.contains(&group));
    }

    fn lock_slots(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
