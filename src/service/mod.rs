//! Use-cases: each authorises the caller, takes what the engine has in memory or lets the engine change it, applies the
//! domain's rules, and audits. REST, GraphQL, the command line and the jobs call only this layer. They use types of the
//! engine, and have no [`FairShareEngine`] of their own.

pub mod access;
pub mod agents;
pub mod audit_log;
pub mod audit_names;
pub mod buckets;
mod capacities;
mod changes;
mod client_reads;
pub mod compute_permits;
pub mod configuration;
pub mod connectors;
mod conservation;
pub mod cycle_plans;
pub mod division;
pub mod doctor;
pub mod explain;
pub mod fairness;
pub mod forecasts;
pub mod gaps;
pub mod groups;
mod ingest;
pub mod input;
pub mod jobs;
pub mod kernels;
pub mod keys;
pub mod memory_budget;
pub mod metadata;
pub mod occupancy;
pub mod people;
pub mod people_tree;
pub mod plans;
pub mod queues;
pub mod rank_movement;
mod reported_workloads;
mod runs;
pub mod sequence;
pub mod share_history;
pub mod share_parts;
pub mod shares;
pub mod simulate;
pub mod start;
pub mod undo;
mod upkeep;
pub mod usage_history;
pub mod usage_records;
pub mod usage_report;
pub mod visible_group;
pub mod weight_input;
pub mod weights;
pub mod what_if;
pub mod workloads;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use crate::domain::clock::Clock;
pub use crate::engine::error::{Error, Fault, RequestFaults, Result};
pub use access::{Caller, Role};
pub use input::clock::SystemClock;
pub use visible_group::VisibleGroup;

use client_reads::ClientReadTurns;
use compute_permits::ComputePermits;
use connectors::memory::ComparisonMemory;
use cycle_plans::memory::CycleMemory;
use forecasts::memory::ForecastMemory;
use memory_budget::MemoryBudget;
use sequence::memory::SequenceMemory;
use start::ServiceStart;

use crate::domain::time::Timestamp;
use crate::engine::FairShareEngine;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::people::PeopleDirectory;
use crate::engine::upkeep::health::ServiceHealth;
use crate::process::usable_memory::usable_bytes;
use crate::store::Store;

/// The service behind all interfaces. Cloning the `Arc` is cheap; it lives as long as the process. It alone has the engine,
/// so that no interface reads or changes anything without a use-case.
pub struct Service {
    engine: Arc<FairShareEngine>,
    /// The time for which keys in memory are accepted while the database cannot be read.
    key_grace: OnceLock<Option<Duration>>,
    /// The last sequences that schedulers got.
    sequences: SequenceMemory,
    /// The last comparisons of sequences with the orders of other schedulers.
    comparisons: ComparisonMemory,
    /// The reasons of the newest cycles.
    cycles: CycleMemory,
    /// The newest forecasts.
    forecasts: ForecastMemory,
    /// Permits for long computations from memory.
    pub permits: ComputePermits,
    /// Permits for reports and audits, which read much of the database.
    report_permits: ComputePermits,
    /// The turns of clients to read the database.
    read_turns: ClientReadTurns,
    /// The memory budget of requests.
    memory: OnceLock<MemoryBudget>,
    /// The present conditions of the service.
    pub health: Arc<ServiceHealth>,
}

impl Service {
    /// A service over `store` that has published the state of all groups and knows all keys.
    pub async fn new(store: Store, clock: Arc<dyn Clock>) -> Result<Arc<Self>> {
        let service = ServiceStart::of(store).await?.service(clock).await?;
        service.refresh_keys().await?;
        Ok(service)
    }

    /// The use-cases over `engine`. They remember no requests yet.
    fn over(engine: Arc<FairShareEngine>) -> Arc<Self> {
        Arc::new(Self {
            key_grace: OnceLock::new(),
            sequences: SequenceMemory::default(),
            comparisons: ComparisonMemory::default(),
            cycles: CycleMemory::default(),
            forecasts: ForecastMemory::default(),
            permits: ComputePermits::default(),
            report_permits: ComputePermits::default(),
            read_turns: ClientReadTurns::new(engine.store().client_reads_at_once()),
            memory: OnceLock::new(),
            health: Arc::clone(&engine.health),
            engine,
        })
    }

    /// The present time, or the latest time that has certainly come while the clock is doubted.
    pub fn trusted_now(&self) -> Timestamp {
        self.engine.trusted_now()
    }

    pub fn clock(&self) -> &dyn Clock {
        self.engine.clock()
    }

    /// The number of days for which usage is kept.
    pub fn keep_buckets_days(&self) -> u32 {
        self.engine.keep_buckets_days()
    }

    /// Sets the number of days for which usage is kept; only once.
    pub fn set_keep_buckets_days(&self, days: u32) {
        self.engine.set_keep_buckets_days(days);
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
        self.engine.store()
    }

    /// All domains, projects and users of the server.
    pub fn people(&self) -> Arc<PeopleDirectory> {
        self.engine.people()
    }

    /// A group that the caller's key reaches, as the caller may see it. All access to the data of a group goes through
    /// here.
    pub fn group(&self, caller: &Caller, name: &str) -> Result<VisibleGroup> {
        VisibleGroup::new(caller, name, || self.engine.published.get(name))
    }

    /// [`Service::group`] for data that only callers with more than one user's rows may see.
    pub fn group_for_readers(&self, caller: &Caller, name: &str) -> Result<VisibleGroup> {
        caller.require_reader()?;
        self.group(caller, name)
    }

    /// All groups that the caller's key reaches, by name.
    pub fn groups(&self, caller: &Caller) -> Vec<VisibleGroup> {
        let all = self.engine.published.all();
        let visible = |(name, group): (&Arc<str>, &Arc<GroupSnapshot>)| {
            VisibleGroup::new(caller, name, || Some(Arc::clone(group))).ok()
        };
        all.iter().filter_map(visible).collect()
    }
}
