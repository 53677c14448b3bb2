//! Starts the engine: reads the state of the database at one moment.

use std::sync::{Arc, Mutex, OnceLock};

use super::error::Result;
use super::group::arrivals::GroupArrivals;
use super::group::locked::LockedElsewhere;
use super::group::snapshots::PublishedSnapshots;
use super::group::state::GroupState;
use super::ingest::batch::CommitQueues;
use super::keys::sessions::SessionTable;
use super::keys::table::KeyTable;
use super::people::CurrentDirectory;
use super::rank_memory::RankMemory;
use super::upkeep::clock_watch::ClockWatch;
use super::upkeep::rewinds::RewindWatch;
use super::{FairShareEngine, SlotGuard};
use crate::domain::clock::Clock;
use crate::process::random;
use crate::store::{self, Store, Tx};

/// An engine that is starting. One transaction reads everything except the users. It uses one connection, because a
/// further one would cost `PostgreSQL` more than the statements.
pub(crate) struct EngineStart {
    store: Store,
    moment: Tx,
}

impl EngineStart {
    /// Begins to read the present state of `store`.
    pub(crate) async fn of(store: Store) -> Result<Self> {
        let moment = store.begin_snapshot().await?;
        Ok(Self { store, moment })
    }

    /// The transaction of the moment at which the engine starts.
    pub(crate) fn moment(&self) -> &Tx {
        &self.moment
    }

    /// The engine, with the state of all groups published. It knows no keys yet.
    pub(crate) async fn engine(self, clock: Arc<dyn Clock>) -> Result<Arc<FairShareEngine>> {
        let Self { store, moment } = self;
        let (people, users) = CurrentDirectory::load(&store, &moment).await?;
        let engine = Arc::new(FairShareEngine {
            people,
            store,
            clock: ClockWatch::new(clock),
            published: PublishedSnapshots::default(),
            slots: Mutex::default(),
            locked_elsewhere: LockedElsewhere::default(),
            arrivals: GroupArrivals::default(),
            lines: CommitQueues::default(),
            id: random::id(),
            compared_at: Mutex::default(),
            runs: Mutex::default(),
            keys: KeyTable::default(),
            sessions: SessionTable::default(),
            keep_buckets_days: OnceLock::new(),
            previous_ranks: RankMemory::default(),
            rewinds: RewindWatch::default(),
            health: Arc::default(),
        });
        engine.begin_watching(&moment).await?;
        let states = states(&engine, &moment).await?;
        drop(moment);
        engine.people.take_users(users.await?);
        for (mut slot, state) in states {
            engine.publish(&mut slot, state);
        }
        Ok(engine)
    }
}

/// The state of every group. It is published after the users are known.
async fn states(engine: &FairShareEngine, moment: &Tx) -> Result<Vec<(SlotGuard, GroupState)>> {
    let mut states = Vec::new();
    for group in store::groups::list(moment).await? {
        let slot = engine.slot(&group.name).lock_owned().await;
        states.push((slot, GroupState::as_of(moment, &engine.people, group).await?));
    }
    Ok(states)
}
