//! Starts the service: reads the state of the database at one moment.

use std::sync::{Arc, Mutex, OnceLock};

use super::compute_permits::ComputePermits;
use super::group::arrivals::GroupArrivals;
use super::group::locked::LockedElsewhere;
use super::group::snapshots::PublishedSnapshots;
use super::group::state::GroupState;
use super::ingest::batch::CommitQueues;
use super::keys::sessions::SessionTable;
use super::keys::table::KeyTable;
use super::people::CurrentDirectory;
use super::upkeep::clock_watch::ClockWatch;
use super::upkeep::health::ServiceHealth;
use super::upkeep::rewinds::RewindWatch;
use super::{Clock, Result, Service, SlotGuard, connectors, cycle_plans, forecasts, rank_movement, sequence};
use crate::process::random;
use crate::store::{self, Store, Tx};

/// A service that is starting. One transaction reads everything except the users. It uses one connection, because a
/// further one would cost `PostgreSQL` more than the statements.
pub struct ServiceStart {
    store: Store,
    moment: Tx,
}

impl ServiceStart {
    /// Begins to read the present state of `store`.
    pub async fn of(store: Store) -> Result<Self> {
        let moment = store.begin_snapshot().await?;
        Ok(Self { store, moment })
    }

    /// The transaction of the moment at which the service starts.
    pub fn moment(&self) -> &Tx {
        &self.moment
    }

    /// The service, with the state of all groups published. It knows no keys yet.
    pub async fn service(self, clock: Arc<dyn Clock>) -> Result<Arc<Service>> {
        let Self { store, moment } = self;
        let (people, users) = CurrentDirectory::load(&store, &moment).await?;
        let service = Arc::new(Service {
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
            key_grace: OnceLock::new(),
            keep_buckets_days: OnceLock::new(),
            sequences: sequence::memory::SequenceMemory::default(),
            comparisons: connectors::memory::ComparisonMemory::default(),
            cycles: cycle_plans::memory::CycleMemory::default(),
            forecasts: forecasts::memory::ForecastMemory::default(),
            previous_ranks: rank_movement::memory::RankMemory::default(),
            rewinds: RewindWatch::default(),
            permits: ComputePermits::default(),
            report_permits: ComputePermits::default(),
            memory: OnceLock::new(),
            health: ServiceHealth::default(),
        });
        service.begin_watching(&moment).await?;
        let states = states(&service, &moment).await?;
        drop(moment);
        service.people.take_users(users.await?);
        for (mut slot, state) in states {
            service.publish(&mut slot, state);
        }
        Ok(service)
    }
}

/// The state of every group. It is published after the users are known.
async fn states(service: &Service, moment: &Tx) -> Result<Vec<(SlotGuard, GroupState)>> {
    let mut states = Vec::new();
    for group in store::groups::list(moment).await? {
        let slot = service.slot(&group.name).lock_owned().await;
        states.push((slot, GroupState::as_of(moment, &service.people, group).await?));
    }
    Ok(states)
}
