//! Use-cases: authorise, load, apply the domain's rules, save, audit. REST, GraphQL, the command
//! line and the jobs call nothing below this layer.

pub mod accounting;
pub mod agents;
mod ahead;
pub mod audit;
mod background;
pub mod buckets;
pub mod caller;
pub mod clock;
pub mod clock_trust;
pub mod configuration;
pub mod conservation;
pub mod division;
pub mod error;
mod folding;
pub mod gaps;
pub mod groups;
pub mod health;
pub mod incoming;
pub mod inferred;
pub mod ingest;
pub mod jobs;
mod joint;
pub mod json;
pub mod kernels;
mod key_table;
pub mod keys;
pub mod leases;
mod live_kernels;
pub mod merging;
mod objects;
pub mod page;
pub mod pass;
pub mod people;
pub mod places;
pub mod plans;
pub mod published;
pub mod queues;
mod recount;
pub mod sequence;
mod session;
pub mod shared;
pub mod shares;
pub mod simulate;
mod state;
mod storage;
mod unsettled;
mod upkeep;
pub mod usage_records;
pub mod warnings;
pub mod watch;
pub mod weights;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLockReadGuard};
use std::time::Duration;

pub use caller::{Caller, Role};
pub use clock::{Clock, SystemClock};
pub use error::{Error, Fault, Result};
pub use leases::Work;
pub use published::PublishedGroup;

use published::Published;
use state::GroupState;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinError;
use uuid::Uuid;

use crate::domain::time::Timestamp;
use crate::store::{self, Store};

type Slot = Arc<tokio::sync::Mutex<Option<GroupState>>>;
type SlotGuard = tokio::sync::OwnedMutexGuard<Option<GroupState>>;

/// The service behind every interface. Cheap to share; lives as long as the process.
pub struct Service {
    store: Store,
    clock: watch::Watch,
    published: Published,
    slots: Mutex<HashMap<String, Slot>>,
    /// Reports on their way into the database.
    lines: joint::Lines,
    /// This process, where the database tells processes apart.
    id: Uuid,
    /// When the service ran.
    runs: Mutex<clock_trust::Runs>,
    keys: key_table::KeyTable,
    /// For how long keys are believed that cannot be read again.
    key_grace: OnceLock<Option<Duration>>,
    people: people::People,
    /// Where what computes long gets its turn.
    pub places: places::Places,
    /// What is wrong now.
    pub health: health::Health,
}

impl Service {
    /// A service over `store` that has published every group's state.
    pub async fn new(store: Store, clock: Arc<dyn Clock>) -> Result<Arc<Self>> {
        let service = Arc::new(Self {
            people: people::People::load(&store).await?,
            store,
            clock: watch::Watch::new(clock),
            published: Published::default(),
            slots: Mutex::default(),
            lines: joint::Lines::default(),
            id: Uuid::new_v4(),
            runs: Mutex::default(),
            keys: key_table::KeyTable::default(),
            key_grace: OnceLock::new(),
            places: places::Places::default(),
            health: health::Health::default(),
        });
        service.begin_watching().await?;
        service.refresh_keys().await?;
        service.refresh().await?;
        Ok(service)
    }

    /// Now, or the latest time that is certain to have come while the clock is doubted.
    pub fn certain_now(&self) -> Timestamp {
        self.clock.certain()
    }

    pub fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The published picture of a group that the caller's key reaches: the one way to what a group has.
    pub fn group(&self, caller: &Caller, name: &str) -> Result<Arc<PublishedGroup>> {
        caller.require_group(name)?;
        self.published.get(name).ok_or_else(|| Error::unknown_group(name))
    }

    /// Requests whose reports wait to be committed.
    pub fn reports_waiting(&self, group: &str) -> usize {
        self.lines.waiting(group)
    }

    /// All groups that the caller's key reaches, by name.
    pub fn groups(&self, caller: &Caller) -> Vec<Arc<PublishedGroup>> {
        self.published.all().values().filter(|group| caller.reaches(&group.name)).cloned().collect()
    }

    /// All groups by name, for what the service does on its own.
    pub(crate) fn published_groups(&self) -> Vec<Arc<PublishedGroup>> {
        self.published.all().values().cloned().collect()
    }

    /// Every domain, project and user of the server. Never to be held over an await.
    pub fn people(&self) -> RwLockReadGuard<'_, people::Directory> {
        self.people.read()
    }

    /// Publishes again what another process has changed. Returns how many groups that were.
    pub async fn refresh(self: &Arc<Self>) -> Result<u64> {
        let mut changed = 0;
        self.people.sync(self.store.read()).await?;
        let known = self.published.all();
        let stored = store::groups::revisions(self.store.read()).await?;
        let gone = known.keys().map(|name| &**name).filter(|name| !stored.contains_key(*name));
        for name in stored.keys().map(String::as_str).chain(gone) {
            if known.get(name).map(|group| group.revisions()) == stored.get(name).copied() {
                continue;
            }
            // Whoever holds the slot publishes for itself.
            let Ok(slot) = self.slot(name).try_lock_owned() else { continue };
            self.reload(name, slot).await?;
            changed += 1;
        }
        self.forget_slots();
        Ok(changed)
    }

    /// Publishes the group as it is stored. The slot keeps writers of this process out meanwhile, so that no
    /// picture replaces a newer one.
    async fn reload(&self, name: &str, mut slot: SlotGuard) -> Result<()> {
        let db = self.store.read();
        let Some(group) = store::groups::find(db, name).await? else {
            *slot = None;
            self.published.remove(name);
            return Ok(());
        };
        let mut state = match slot.take() {
            Some(mut state) if state.is_of(&group) => {
                state.catch_up(db, group, 0).await?;
                state
            }
            _ => GroupState::load(db, &self.people, group, self.clock.now().day()).await?,
        };
        state.follow(&self.people.read());
        let ranking = state.hierarchy.recompute(state.options.default_weight);
        self.published.put(&Arc::new(PublishedGroup::build(&state, &self.people.read(), &ranking)));
        *slot = Some(state);
        Ok(())
    }

    /// The one place where the state of the group called `name` is kept. Who holds it is the only one in this
    /// process that writes the group, publishes it or takes it away.
    fn slot(&self, name: &str) -> Slot {
        Arc::clone(self.lock_slots().entry(name.to_owned()).or_default())
    }

    /// Forgets the slots of groups that are gone, unless somebody holds one or waits for it.
    fn forget_slots(&self) {
        let known = self.published.all();
        self.lock_slots().retain(|name, slot| known.contains_key(name.as_str()) || Arc::strong_count(slot) > 1);
    }

    fn lock_slots(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a write to its end even if whoever asked for it goes away: a transaction is never cut off
/// half-way.
pub async fn detached<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    ended(tokio::spawn(work).await)
}

/// What became of a task.
fn ended<T>(task: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    match task {
        Ok(result) => result,
        Err(error) if error.is_panic() => {
            tracing::error!("a use-case panicked");
            Err(Error::Internal("a use-case panicked".to_owned()))
        }
        Err(_) => Err(Error::unavailable("the service is shutting down")),
    }
}

/// Computes for long without keeping other tasks of the same thread waiting.
pub fn heavy<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|h| h.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
