//! Use-cases: authorise, load, apply the domain's rules, save, audit. REST, GraphQL, the command
//! line and the jobs call nothing below this layer.

pub mod accounting;
pub mod agents;
pub mod audit;
pub mod audit_log;
pub mod audit_names;
pub mod buckets;
mod capacities;
pub mod compute_permits;
pub mod configuration;
pub mod division;
pub mod doctor;
pub mod explain;
pub mod fairness;
pub mod gaps;
pub mod group;
pub mod groups;
pub mod ingest;
pub mod input;
pub mod jobs;
pub mod kernels;
pub mod key_semaphores;
pub mod keys;
pub mod memory_budget;
mod past_days;
pub mod people;
pub mod plans;
pub mod queues;
pub mod rank_movement;
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

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLockReadGuard};
use std::time::Duration;

pub use group::visible::VisibleGroup;
pub use input::caller::{Caller, Role};
pub use input::clock::{Clock, SystemClock};
pub use input::error::{Error, Fault, Faults, Result};
pub use jobs::leases::Work;

use compute_permits::ComputePermits;
use group::arrivals::GroupArrivals;
use group::locked::LockedElsewhere;
use group::published::{Published, PublishedGroup};
use group::state::GroupState;
use ingest::batch::Lines;
use keys::sessions::SessionTable;
use keys::table::KeyTable;
use memory_budget::MemoryBudget;
use start::Start;
use tokio::time::Instant;
use upkeep::clock_trust::Runs;
use upkeep::clock_watch::Watch;
use upkeep::health::Health;
use upkeep::rewinds::RewindWatch;
use uuid::Uuid;

use crate::domain::ids::GroupKey;
use crate::domain::maps::FastSet;
use crate::domain::time::Timestamp;
use crate::process::usable_memory::usable_bytes;
use crate::store::{self, ConnectionTrait, Store, StreamTrait};

/// For how many days usage is kept, unless the settings say.
pub const KEEP_BUCKETS_DAYS: u32 = 1_100;

type Slot = Arc<tokio::sync::Mutex<Option<GroupState>>>;
type SlotGuard = tokio::sync::OwnedMutexGuard<Option<GroupState>>;

/// The service behind every interface. Cheap to share; lives as long as the process.
pub struct Service {
    store: Store,
    clock: Watch,
    published: Published,
    slots: Mutex<HashMap<String, Slot>>,
    locked_elsewhere: LockedElsewhere,
    arrivals: GroupArrivals,
    /// Reports on their way into the database.
    lines: Lines,
    /// This process, where the database tells processes apart.
    id: Uuid,
    /// When the last comparison with the database began that went well; `None`: this process does not serve.
    compared_at: Mutex<Option<Instant>>,
    /// When the service ran.
    runs: Mutex<Runs>,
    keys: KeyTable,
    /// Who is signed in to the web pages.
    sessions: SessionTable,
    /// For how long keys are believed that cannot be read again.
    key_grace: OnceLock<Option<Duration>>,
    people: people::People,
    /// For how many days usage is kept.
    keep_buckets_days: OnceLock<u32>,
    /// What schedulers were told last.
    sequences: sequence::memory::Memory,
    previous_ranks: rank_movement::memory::Memory,
    /// Signs that the database has gone back.
    rewinds: RewindWatch,
    /// Permits for work that computes long from memory.
    pub permits: ComputePermits,
    /// Permits for reports and audits, which read much of the database.
    report_permits: ComputePermits,
    /// Memory for what clients bring along.
    memory: OnceLock<MemoryBudget>,
    /// What is wrong now.
    pub health: Health,
}

impl Service {
    /// A service over `store` that has published every group's state and knows all keys.
    pub async fn new(store: Store, clock: Arc<dyn Clock>) -> Result<Arc<Self>> {
        let service = Start::of(store).await?.service(clock).await?;
        service.refresh_keys().await?;
        Ok(service)
    }

    /// Now, or the latest time that is certain to have come while the clock is doubted.
    pub fn certain_now(&self) -> Timestamp {
        self.clock.certain()
    }

    pub fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    /// `now`, or the latest time that is certain to have come while the clock is doubted.
    pub(in crate::service) fn certain(&self, now: Timestamp) -> Timestamp {
        self.clock.doubt().map_or(now, |doubt| doubt.reference)
    }

    /// For how many days usage is kept.
    pub fn keep_buckets_days(&self) -> u32 {
        self.keep_buckets_days.get().copied().unwrap_or(KEEP_BUCKETS_DAYS)
    }

    /// Says for how many days usage is kept; once.
    pub fn set_keep_buckets_days(&self, days: u32) {
        if self.keep_buckets_days.set(days).is_err() {
            tracing::warn!("for how many days usage is kept is said twice");
        }
    }

    /// Memory for what clients bring along: a quarter of what the process may use, unless the settings say.
    pub fn memory(&self) -> &MemoryBudget {
        self.memory.get_or_init(|| MemoryBudget::new(usable_bytes() / 4))
    }

    /// Says how many bytes there are for what clients bring along; once, before the first request.
    pub fn set_memory(&self, bytes: usize) {
        if self.memory.set(MemoryBudget::new(bytes)).is_err() {
            tracing::warn!("the memory for bodies is set twice");
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A group that the caller's key reaches, as that caller may see it: the one way to what a group has.
    pub fn group(&self, caller: &Caller, name: &str) -> Result<VisibleGroup> {
        VisibleGroup::new(caller, name, || self.published.get(name))
    }

    /// [`Service::group`] for what only callers with more than one user's rows may see.
    pub fn group_for_readers(&self, caller: &Caller, name: &str) -> Result<VisibleGroup> {
        caller.require_reader()?;
        self.group(caller, name)
    }

    /// Requests whose reports wait to be committed.
    pub fn reports_waiting(&self, group: &str) -> usize {
        self.lines.waiting(group)
    }

    /// All groups that the caller's key reaches, by name.
    pub fn groups(&self, caller: &Caller) -> Vec<VisibleGroup> {
        let all = self.published.all();
        let visible = |(name, group): (&Arc<str>, &Arc<PublishedGroup>)| {
            VisibleGroup::new(caller, name, || Some(Arc::clone(group))).ok()
        };
        all.iter().filter_map(visible).collect()
    }

    /// All groups by name, for what the service does on its own.
    fn published_groups(&self) -> Vec<Arc<PublishedGroup>> {
        self.published.all().values().cloned().collect()
    }

    /// Every domain, project and user of the server. Never to be held over an await.
    pub fn people(&self) -> RwLockReadGuard<'_, people::Directory> {
        self.people.read()
    }

    /// Publishes again what another process has changed. Returns how many groups that were.
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
            // The task that holds the slot publishes for itself.
            let Ok(mut slot) = self.slot(name).try_lock_owned() else { continue };
            self.reload(self.store.read(), name, &mut slot).await?;
            changed += 1;
        }
        self.forget_gone_groups();
        self.note_comparison(began);
        Ok(changed)
    }

    /// Publishes the group as it is stored. The slot keeps writers of this process out meanwhile, so that no
    /// picture replaces a newer one.
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
        state.follow(&self.people.read());
        state.hierarchy.weigh(state.options.default_weight);
        self.published.put(&Arc::new(PublishedGroup::build(&state, &self.people.read(), None)));
        **slot = Some(state);
    }

    /// The one place where the state of the group called `name` is kept. Who holds it is the only one in this
    /// process that writes the group, publishes it or takes it away.
    fn slot(&self, name: &str) -> Slot {
        Arc::clone(self.lock_slots().entry(name.to_owned()).or_default())
    }

    /// Forgets what was kept of groups that are gone; not the slots that a task holds or waits for.
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
