//! A service with a group, agents and kernels, and short functions for the usual steps of a test.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::api::kernels::KernelInput;
use fairshared::cli::ApiClient;
use fairshared::cli::client::in_process_client;
use fairshared::domain::bucket::DayUsage;
use fairshared::domain::ids::{GroupKey, KernelId};
use fairshared::domain::slots::SlotAmounts;
use fairshared::domain::time::Day;
use fairshared::engine::ingest::incoming::RefusedReport;
use fairshared::engine::ingest::incoming::{IncomingReport, check_input};
use fairshared::engine::people::PeopleDirectory;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::server::ServerApp;
use fairshared::service::agents::AgentSpec;
use fairshared::service::groups::{GroupDeletion, SchedulerPatch};
use fairshared::service::kernels::StoredRecord;
use fairshared::service::{Caller, Clock, Role, Service};
use fairshared::store::day_totals::{self, MemberDomain};
use fairshared::store::{groups, run_times};
use serde_json::{Value, json};
use uuid::Uuid;

use super::ManualClock;
use super::database::TestDb;

pub const GROUP: &str = "gpu-cluster";

/// A serving service over one database.
pub struct Fixture {
    pub db: TestDb,
    pub clock: Arc<ManualClock>,
    pub service: Arc<Service>,
}

/// An id that depends only on the name.
pub fn id(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
}

pub fn admin() -> Caller {
    Caller::internal("test")
}

/// A caller with another role than an admin's.
#[allow(dead_code, reason = "benches do not call it")]
pub fn caller_with(role: Role) -> Caller {
    let mut caller = admin();
    caller.principal.role = role;
    caller
}

/// The terms of a removal that is confirmed and forced.
pub fn surely(name: &str) -> GroupDeletion {
    GroupDeletion { confirm: Some(name.to_owned()), force: true, reason: None }
}

pub fn slots(value: &Value) -> SlotAmounts {
    serde_json::from_value(value.clone()).unwrap()
}

impl Fixture {
    /// A serving service at `now` with the group `gpu-cluster`, which has no agents yet.
    pub async fn new(db: TestDb, now: &str) -> Self {
        let clock = Arc::new(ManualClock::at(now));
        let service = Service::new(db.store().await, Arc::clone(&clock) as _).await.unwrap();
        service.start_serving().await.unwrap();
        let fixture = Self { db, clock, service };
        fixture.group(GROUP, &json!({})).await;
        fixture
    }

    /// The key of the group in the database.
    pub fn key(&self) -> GroupKey {
        self.service.group(&admin(), GROUP).unwrap().key
    }

    /// All usage records of a kernel, by time.
    pub async fn records(&self, kernel: &str) -> Vec<StoredRecord> {
        self.service.kernel(&admin(), GROUP, KernelId(id(kernel))).await.unwrap().records
    }

    /// A new service over the same database, at the clock's time.
    pub async fn restart(self) -> Self {
        let service = Service::new(self.db.store().await, Arc::clone(&self.clock) as _).await.unwrap();
        service.start_serving().await.unwrap();
        Self { service, ..self }
    }

    /// A client of the endpoints in this process, like that of a command.
    pub fn client(&self) -> ApiClient {
        let jobs = JobRunner::new(Arc::clone(&self.service), JobSettings::default());
        in_process_client(ServerApp::new(Arc::clone(&self.service), jobs), "cli:test")
    }

    pub async fn group(&self, name: &str, opts: &Value) {
        let patch = SchedulerPatch {
            scheduler: Some("fairshare".into()),
            scheduler_opts: opts.as_object().cloned(),
            ..Default::default()
        };
        self.service.put_group(admin(), name.to_owned(), patch).await.unwrap();
    }

    pub async fn options(&self, opts: &Value) {
        let patch = SchedulerPatch { scheduler_opts: opts.as_object().cloned(), ..Default::default() };
        self.service.patch_scheduler_options(admin(), GROUP.to_owned(), patch).await.unwrap();
    }

    pub async fn agent(&self, agent: &str, available: &Value) {
        let spec = AgentSpec {
            available_slots: slots(available),
            alive: true,
            schedulable: true,
            labels: BTreeMap::new(),
            taints: Vec::new(),
        };
        self.service.put_agent(admin(), GROUP.to_owned(), agent.to_owned(), spec, None).await.unwrap();
    }

    /// Reports kernels. Each is JSON over defaults, in which names stand for ids.
    pub async fn ingest(&self, kernels: &[Value]) -> Vec<RefusedReport> {
        let batch = kernels.iter().map(incoming).collect();
        self.service.ingest(&admin(), GROUP, batch).await.unwrap()
    }

    pub async fn tick(&self) -> fairshared::engine::accounting::run::AggregationResult {
        self.service.heartbeat().await.unwrap();
        self.service.aggregate(GROUP).await.unwrap()
    }

    /// Fails unless the audit of the group finds no difference and the stored run times are right.
    pub async fn assert_conserved(&self) {
        self.assert_run_times().await;
        let found = self.service.audit_conservation(&admin(), GROUP).await.unwrap();
        assert_eq!(found.difference, None);
    }

    /// All day totals in the database, by day.
    pub async fn day_totals(&self) -> BTreeMap<(Day, MemberDomain), DayUsage> {
        let (db, group) = (self.service.store().read(), self.key());
        let mut found = BTreeMap::new();
        let mut next = day_totals::next_day(db, group, Day::MIN).await.unwrap();
        while let Some(day) = next {
            let of_day = day_totals::of_day(db, group, day).await.unwrap();
            found.extend(of_day.into_iter().map(|(place, daily)| ((day, place), daily)));
            next = day_totals::next_day(db, group, day.plus(1)).await.unwrap();
        }
        found
    }

    /// Fails unless the stored run times equal those that follow from the kernels.
    async fn assert_run_times(&self) {
        let group = self.service.group(&admin(), GROUP).unwrap();
        // Run times before the look-back may be purged.
        let first = self.clock.now().day().plus(1 - group.options.lookback_days.cast_signed());
        let Some(from) = group.calculation.as_ref().map(|last| last.lookback_start.max(first)) else { return };
        let tx = self.service.store().begin().await.unwrap();
        if !groups::find(&tx, GROUP).await.unwrap().unwrap().run_times_made {
            return;
        }
        let mut stored = run_times::sums_since(&tx, group.key, from).await.unwrap();
        run_times::rebuild(&tx, group.key, from).await.unwrap();
        let anew = run_times::sums_since(&tx, group.key, from).await.unwrap();
        drop(tx);
        stored.retain(|_, times| !times.is_zero());
        assert_eq!(stored, anew);
    }
}

/// A kernel of `user` in `project` (names), as JSON for the ingest endpoint.
pub fn kernel(name: &str, user: &str, project: &str, started_at: &str) -> Value {
    json!({
        "kernel_id": id(name), "session_id": id(name), "user_uuid": id(user), "project_id": id(project),
        "domain_name": "research", "occupied_slots": {"cpu": "1"}, "status": "RUNNING", "started_at": started_at,
    })
}

/// `base` with the keys of `changes` replaced.
pub fn with(mut base: Value, changes: &Value) -> Value {
    for (key, value) in changes.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

pub fn incoming(kernel: &Value) -> IncomingReport {
    let input: KernelInput = serde_json::from_value(kernel.clone()).unwrap();
    check_input(input, &PeopleDirectory::default(), super::time("2026-01-01T00:00:00Z"))
        .unwrap_or_else(|faults| panic!("{faults:?}"))
}
