//! Use-cases: each authorises the caller, loads data, applies the domain's rules, saves and audits. REST, GraphQL, the
//! command line and the jobs call nothing below this layer.

pub mod access;
pub mod accounting;
pub mod agents;
pub mod audit;
pub mod audit_log;
pub mod audit_names;
pub mod buckets;
mod capacities;
pub mod compute_permits;
pub mod configuration;
pub mod connectors;
pub mod cycle_plans;
pub mod division;
pub mod doctor;
pub mod explain;
pub mod fairness;
pub mod forecasts;
pub mod gaps;
pub mod group;
pub mod groups;
pub mod ingest;
pub mod input;
pub mod jobs;
pub mod kernels;
pub mod keys;
pub mod memory_budget;
pub mod metadata;
pub mod occupancy;
mod past_days;
pub mod people;
pub mod people_tree;
pub mod plans;
pub mod queues;
pub mod rank_movement;
mod reported_workloads;
pub mod sequence;
pub mod share_history;
pub mod share_parts;
pub mod shares;
pub mod simulate;
pub mod start;
pub mod undo;
pub mod upkeep;
pub mod usage_history;
pub mod usage_records;
pub mod usage_report;
pub mod weight_input;
pub mod weights;
pub mod what_if;
pub mod work;
pub mod workloads;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLockReadGuard};
use std::time::Duration;

pub use crate::domain::clock::Clock;
pub use access::{Caller, Role};
pub use group::visible::VisibleGroup;
pub use input::clock::SystemClock;
pub use input::error::{Error, Fault, RequestFaults, Result};
pub use jobs::leases::LeasedWork;

use compute_permits::ComputePermits;
use group::arrivals::GroupArrivals;
use group::locked::LockedElsewhere;
use group::snapshots::{GroupSnapshot, PublishedSnapshots};
use group::state::GroupState;
use ingest::batch::CommitQueues;
use keys::sessions::SessionTable;
use keys::table::KeyTable;
use memory_budget::MemoryBudget;
use start::ServiceStart;
use tokio::time::Instant;
use upkeep::clock_trust::ServiceRuns;
use upkeep::clock_watch::ClockWatch;
use upkeep::health::ServiceHealth;
use upkeep::rewinds::RewindWatch;
use uuid::Uuid;

use crate::domain::ids::GroupKey;
use crate::domain::maps::FastSet;
use crate::domain::time::Timestamp;
use crate::process::usable_memory::usable_bytes;
use crate::store::{self, ConnectionTrait, Store, StreamTrait};

/// The number of days for which usage is kept, if the settings name none.
pub const KEEP_BUCKETS_DAYS: u32 = 1_100;

type Slot = Arc<tokio::sync::Mutex<Option<GroupState>>>;
type SlotGuard = tokio::sync::OwnedMutexGuard<Option<GroupState>>;

/// The service behind all interfaces. Cloning the `Arc` is cheap; it lives as long as the process.
pub struct Service {
    store: Store,
    clock: ClockWatch,
    published: PublishedSnapshots,
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
    keys: KeyTable,
    /// The sessions of the web pages.
    sessions: SessionTable,
    /// The time for which keys in memory are accepted while the database cannot be read.
    key_grace: OnceLock<Option<Duration>>,
    people: people::CurrentDirectory,
    /// The number of days for which usage is kept.
    keep_buckets_days: OnceLock<u32>,
    /// The last sequences that schedulers got.
    sequences: sequence::memory::SequenceMemory,
    /// The last comparisons of sequences with the orders of other schedulers.
    comparisons: connectors::memory::ComparisonMemory,
    /// The reasons of the newest cycles.
    cycles: cycle_plans::memory::CycleMemory,
    /// The newest forecasts.
    forecasts: forecasts::memory::ForecastMemory,
    previous_ranks: rank_movement::memory::RankMemory,
    /// Signs that the database has gone back to an earlier state.
    rewinds: RewindWatch,
    /// Permits for long computations from memory.
    pub permits: ComputePermits,
    /// Permits for reports and audits, which read much of the database.
    report_permits: ComputePermits,
    /// The memory budget of requests.
    memory: OnceLock<MemoryBudget>,
    /// The present conditions of the service.
    pub health: ServiceHealth,
}

impl Service {
    /// A service over `store` that has published the state of all groups and knows all keys.
    pub async fn new(store: Store, clock: Arc<dyn Clock>) -> Result<Arc<Self>> {
        let service = ServiceStart::of(store).await?.service(clock).await?;
        service.refresh_keys().await?;
        Ok(service)
    }

    /// The present time, or the latest time that has certainly come while the clock is doubted.
    pub fn trusted_now(&self) -> Timestamp {
        self.clock.trusted_time()
    }

    pub fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    /// `now`, or the latest time that has certainly come while the clock is doubted.
    pub(in crate::service) fn trusted_time(&self, now: Timestamp) -> Timestamp {
        self.clock.doubt().map_or(now, |doubt| doubt.reference)
    }

    /// The number of days for which usage is kept.
    pub fn keep_buckets_days(&self) -> u32 {
        self.keep_buckets_days.get().copied().unwrap_or(KEEP_BUCKETS_DAYS)
    }

    /// Sets the number of days for which usage is kept; only once.
    pub fn set_keep_buckets_days(&self, days: u32) {
        if self.keep_buckets_days.set(days).is_err() {
            tracing::warn!("for how many days usage is kept is said twice");
        }
    }

    /// The memory budget of requests: a quarter of the memory that the process may use, if the settings name none.
    pub fn memory(&self) -> &MemoryBudget {
        self.memory.get_or_init(|| MemoryBudget::new(usable_bytes() / 4))
    }

    /// Sets the memory budget of requests in bytes; only once, before the first request.
    pub fn set_memory(&self, bytes: usize) {
        if self.memory.set(MemoryBudget::new(bytes)).is_err() {
            tracing::warn!("the memory for bodies is set twice");
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A group that the caller's key reaches, as the caller may see it. All access to the data of a group goes through
    /// here.
    pub fn group(&self, caller: &Caller, name: &str) -> Result<VisibleGroup> {
        VisibleGroup::new(caller, name, || self.published.get(name))
    }

    /// [`Service::group`] for data that only callers with more than one user's rows may see.
    pub fn group_for_readers(&self, caller: &Caller, name: &str) -> Result<VisibleGroup> {
        caller.require_reader()?;
        self.group(caller, name)
    }

    /// The number of requests whose reports wait to be committed.
    pub fn reports_waiting(&self, group: &str) -> usize {
        self.lines.waiting(group)
    }

    /// All groups that the caller's key reaches, by name.
    pub fn groups(&self, caller: &Caller) -> Vec<VisibleGroup> {
        let all = self.published.all();
        let visible = |(name, group): (&Arc<str>, &Arc<GroupSnapshot>)| {
            VisibleGroup::new(caller, name, || Some(Arc::clone(group))).ok()
        };
        all.iter().filter_map(visible).collect()
    }

    /// All groups by name, for work of the service itself.
    fn published_groups(&self) -> Vec<Arc<GroupSnapshot>> {
        self.published.all().values().cloned().collect()
    }

    /// All domains, projects and users of the server. The guard must not be held across an await.
    pub fn people(&self) -> RwLockReadGuard<'_, people::PeopleDirectory> {
        self.people.read()
    }

    /// Publishes groups that another process has changed. Returns their number.
    #[tracing::instrument(name = "service.refresh", level = "debug", skip_all, err(level = "debug"))]
    pub async fn refresh(self: &Arc<Self>) -> Result<u64> {
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
        for name in stored.keys().map(String::as_str).chain(gone) {
            if known.get(name).map(|group| group.facts.revisions()) == stored.get(name).map(|now| now.revisions) {
                continue;
            }
            // The task that holds the slot publishes the group itself.
            let Ok(mut slot) = self.slot(name).try_lock_owned() else { continue };
            self.reload(self.store.read(), name, &mut slot).await?;
            changed += 1;
        }
        self.forget_gone_groups();
        self.note_comparison(began);
        Ok(changed)
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
