//! Rounds with a scheduler and a server of the test.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fairshared::api::agents::AgentReport;
use fairshared::api::group_facts::GroupFacts;
use fairshared::api::key_rights::KeyRights;
use fairshared::api::people_tree::{PeopleTree, TreeAnswer};
use fairshared::api::sequence::{OrderRequest, ServerOrder};
use fairshared::connectors::eligible::EligibleWorkload;
use fairshared::connectors::fault::RoundFault;
use fairshared::connectors::group_weights::GroupWeights;
use fairshared::connectors::instance_lock::{ExistingLock, InstanceLock};
use fairshared::connectors::outcome::RoundOutcome;
use fairshared::connectors::report_spool::{ReportSpool, SpooledReports};
use fairshared::connectors::round::{RoundRunner, RoundSettings};
use fairshared::connectors::scheduler::{
    JobCounts, KernelReading, QueueReading, SchedulerConnector, ValueWrite, WriteAim, WritePlan, WriteResult,
};
use fairshared::connectors::server::{FairShareServer, ReportedRows, ServerFailure};
use fairshared::connectors::state_file::ConnectorState;
use fairshared::domain::connectors::ConnectorMode;
use fairshared::domain::time::Timestamp;
use fairshared::service::Clock;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{ManualClock, time};

/// The plan of what the scheduler and the server of the test do, and the record of what was done with them.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
struct PlannedWorld {
    is_server_away: bool,
    is_accounting_away: bool,
    is_queue_away: bool,
    rejected: u64,
    too_old: u64,
    lines: usize,
    knows_current_order: bool,
    obstacle: bool,
    /// True if the scheduler has a tree of people.
    has_tree: bool,
    /// True if the key has the role connector.
    is_connector: bool,
    refuses_trees: bool,
    trees: Vec<PeopleTree>,
    /// The revision of the group.
    revision: u32,
    /// The number of trees that were asked for, and of weights that the scheduler has got.
    tree_reads: usize,
    weight_changes: usize,
    /// The places from which the accounting was read.
    read_since: Vec<Option<Timestamp>>,
    reports: Vec<String>,
    orders: Vec<Value>,
    statuses: Vec<Value>,
    written: Vec<Vec<ValueWrite>>,
    /// The state on disk when values were written.
    state_at_write: Vec<ConnectorState>,
}

type SharedWorld = Rc<RefCell<PlannedWorld>>;

struct TwoJobs(Vec<EligibleWorkload>);

impl QueueReading for TwoJobs {
    fn counts(&self) -> JobCounts {
        JobCounts { jobs: 2, pending: 2, eligible: 2, ..JobCounts::default() }
    }

    fn eligible(&self) -> &[EligibleWorkload] {
        &self.0
    }
}

struct PlannedScheduler {
    world: SharedWorld,
    folder: std::path::PathBuf,
}

impl SchedulerConnector for PlannedScheduler {
    const KIND: &'static str = "planned";

    type Queue = TwoJobs;

    async fn read_queue(&mut self, _: &BTreeMap<String, i64>) -> Result<TwoJobs, RoundFault> {
        if self.world.borrow().is_queue_away {
            return Err(RoundFault::new("unknown_format", "squeue printed something"));
        }
        let job = |id: &str| EligibleWorkload {
            workload_id: id.to_owned(),
            user: "ann".to_owned(),
            project: "p".to_owned(),
            submitted_at: time("2026-01-13T10:00:00Z"),
            priority: 3,
            requested_slots: [("cpu".to_owned(), "1".to_owned())].into(),
        };
        Ok(TwoJobs(vec![job("1"), job("2")]))
    }

    async fn read_kernels(&mut self, since: Option<Timestamp>) -> Result<KernelReading, RoundFault> {
        let mut world = self.world.borrow_mut();
        if world.is_accounting_away {
            return Err(RoundFault::new("slurm_away", "sacct failed"));
        }
        world.read_since.push(since);
        let complete_until = Some(time("2026-01-13T11:00:00Z"));
        let lines = b"{\"a\":1}\n{\"a\":2}\n".repeat(world.lines.max(1));
        let reports = SpooledReports { complete_until, lines };
        Ok(KernelReading { reports, unreadable: Vec::new(), unreadable_rows: 0 })
    }

    async fn read_agents(&mut self) -> Result<Vec<AgentReport>, RoundFault> {
        Ok(Vec::new())
    }

    async fn read_setup(&mut self) -> Result<(), RoundFault> {
        Ok(())
    }

    fn take_people_tree(&mut self) -> Option<PeopleTree> {
        let tree = PeopleTree { resource_group: "g".to_owned(), ..PeopleTree::default() };
        self.world.borrow().has_tree.then_some(tree)
    }

    fn take_group_weights(&mut self, _: GroupWeights) {
        self.world.borrow_mut().weight_changes += 1;
    }

    fn write_obstacles(&self) -> Vec<RoundFault> {
        if self.world.borrow().obstacle { vec![RoundFault::new("priority_type", "basic")] } else { Vec::new() }
    }

    fn plan_writes(&self, _: &TwoJobs, state: &ConnectorState, aim: WriteAim) -> Result<WritePlan, RoundFault> {
        let write = |job: &str, value| ValueWrite { job: job.to_owned(), value };
        let writes = match aim {
            WriteAim::Follow(order) => {
                order.items.iter().zip(1..).map(|(item, place)| write(&item.workload_id, 10 - place)).collect()
            }
            WriteAim::Fade | WriteAim::Reset => state.written.keys().map(|job| write(job, 0)).collect(),
        };
        Ok(WritePlan { writes, ..WritePlan::default() })
    }

    async fn write_values(&mut self, writes: &[ValueWrite], _: u32) -> Result<WriteResult, RoundFault> {
        let mut world = self.world.borrow_mut();
        world.state_at_write.push(ConnectorState::load(&self.folder).unwrap());
        world.written.push(writes.to_vec());
        Ok(WriteResult { written: writes.len() as u64, ..WriteResult::default() })
    }
}

struct PlannedServer(SharedWorld);

impl PlannedServer {
    fn answer(&self) -> Result<(), ServerFailure> {
        if self.0.borrow().is_server_away { Err(ServerFailure::Away("no answer".to_owned())) } else { Ok(()) }
    }
}

impl FairShareServer for PlannedServer {
    async fn report_kernels(&self, _: &str, lines: Vec<u8>) -> Result<ReportedRows, ServerFailure> {
        self.answer()?;
        let mut world = self.0.borrow_mut();
        world.reports.push(String::from_utf8(lines).unwrap());
        let reasons = if world.rejected > 0 { vec![RoundFault::new("a_code", "is wrong")] } else { Vec::new() };
        Ok(ReportedRows { rejected: world.rejected, too_old: world.too_old, reasons })
    }

    async fn order_workloads(&self, _: &str, request: &OrderRequest<'_>) -> Result<ServerOrder, ServerFailure> {
        self.answer()?;
        let mut world = self.0.borrow_mut();
        if request.current_order.is_some() && !world.knows_current_order {
            let detail = "/current_order: `current_order` is not known here".to_owned();
            return Err(ServerFailure::Refused { code: "unknown_field".to_owned(), detail });
        }
        world.orders.push(json!(request));
        let mut answer = json!({"items": [{"workload_id": "2", "rank": 1}, {"workload_id": "1", "rank": null}]});
        if world.knows_current_order {
            answer["agreement"] = json!({"compared": 2, "same_place": 0, "kendall_tau": -1, "gain": [], "lose": []});
        }
        Ok(serde_json::from_value(answer).unwrap())
    }

    async fn put_agents(&self, _: &str, _: &[AgentReport]) -> Result<(), ServerFailure> {
        assert!(self.0.borrow().is_connector, "a key of the role scheduler sets no agents");
        Ok(())
    }

    async fn put_people_tree(&self, tree: &PeopleTree) -> Result<TreeAnswer, ServerFailure> {
        self.answer()?;
        let mut world = self.0.borrow_mut();
        assert!(world.is_connector, "a key of the role scheduler brings no tree");
        if world.refuses_trees {
            return Err(ServerFailure::Refused { code: "too_many".to_owned(), detail: "is too large".to_owned() });
        }
        // A tree comes before the reports of its round.
        assert_eq!(world.reports.len(), world.trees.len());
        world.trees.push(tree.clone());
        Ok(TreeAnswer::default())
    }

    async fn put_status(&self, cluster: &str, status: &Value) -> Result<(), ServerFailure> {
        assert_eq!(cluster, "c");
        self.0.borrow_mut().statuses.push(status.clone());
        Err(ServerFailure::Refused { code: "unknown_path".to_owned(), detail: "the path leads to nothing".to_owned() })
    }

    async fn key_rights(&self) -> Result<KeyRights, ServerFailure> {
        self.answer()?;
        let role = if self.0.borrow().is_connector { "connector" } else { "scheduler" };
        Ok(KeyRights { role: role.to_owned(), resource_groups: None, answered_at: None })
    }

    async fn find_group(&self, _: &str) -> Result<GroupFacts, ServerFailure> {
        self.answer()?;
        let revision = self.0.borrow().revision.to_string();
        let facts = json!({"config_revision": revision, "scheduler_opts": {"default_weight": "1.0"}});
        Ok(serde_json::from_value(facts).unwrap())
    }

    async fn read_people_tree(&self, _: &str) -> Result<PeopleTree, ServerFailure> {
        self.answer()?;
        let mut world = self.0.borrow_mut();
        world.tree_reads += 1;
        if world.refuses_trees {
            return Err(ServerFailure::Refused { code: "no_group".to_owned(), detail: "is not there".to_owned() });
        }
        Ok(PeopleTree::default())
    }
}

type PlannedRunner = RoundRunner<PlannedScheduler, PlannedServer>;

fn runner(world: &SharedWorld, clock: &Arc<ManualClock>, folder: &Path, mode: ConnectorMode) -> PlannedRunner {
    let settings = RoundSettings {
        mode,
        resource_group: "g".to_owned(),
        cluster: "c".to_owned(),
        head: 200,
        max_writes: 500,
        writes_per_second: 200,
        accounting_interval: Duration::from_mins(1),
        nodes_interval: Duration::from_mins(5),
        tree_interval: Duration::from_mins(10),
        stale_after: Some(Duration::from_hours(1)),
        state_dir: folder.to_owned(),
        spool_max_bytes: 1 << 20,
    };
    let scheduler = PlannedScheduler { world: Rc::clone(world), folder: folder.to_owned() };
    RoundRunner::new(scheduler, PlannedServer(Rc::clone(world)), Arc::clone(clock) as Arc<dyn Clock>, settings).unwrap()
}

fn codes(outcome: &RoundOutcome) -> Vec<&str> {
    outcome.errors.iter().map(|error| &*error.code).collect()
}

fn start() -> (SharedWorld, Arc<ManualClock>, TempDir) {
    (SharedWorld::default(), Arc::new(ManualClock::at("2026-01-13T12:00:00Z")), tempfile::tempdir().unwrap())
}

#[tokio::test]
async fn shadow_reports_and_compares_and_writes_nothing() {
    let (world, clock, folder) = start();
    world.borrow_mut().knows_current_order = true;
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Shadow);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.reported, outcome.spooled), (vec![], 2, 0));
    assert_eq!((outcome.compared, outcome.same_place, outcome.kendall_tau), (Some(2), Some(0), Some(-1.0)));
    assert_eq!(outcome.wanted_writes, 0);
    // The accounting is read once a minute, and the second time from where the first one ended.
    clock.advance_seconds(15);
    assert_eq!(runner.run().await.reported, 0);
    clock.advance_seconds(60);
    assert_eq!(runner.run().await.reported, 2);
    let world = world.borrow();
    assert_eq!(world.read_since, [None, Some(time("2026-01-13T11:00:00Z"))]);
    assert_eq!(
        world.orders[0],
        json!({
            "workloads": [
                {"workload_id": "1", "user": "ann", "project": "p", "submitted_at": "2026-01-13T10:00:00Z",
                 "priority": 3, "requested_slots": {"cpu": "1"}},
                {"workload_id": "2", "user": "ann", "project": "p", "submitted_at": "2026-01-13T10:00:00Z",
                 "priority": 3, "requested_slots": {"cpu": "1"}}
            ],
            "limit": 200, "current_order": ["1", "2"]
        })
    );
    assert!(world.written.is_empty());
    // A server that keeps no status is asked once.
    assert_eq!(world.statuses.len(), 1);
    let status = &world.statuses[0];
    let shown = ["kind", "resource_group", "mode", "compared"].map(|key| status[key].clone());
    assert_eq!(shown, [json!("planned"), json!("g"), json!("shadow"), json!(2)]);
}

#[tokio::test]
async fn a_server_that_compares_no_orders_still_orders() {
    let (world, clock, folder) = start();
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Factor);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.compared, outcome.kendall_tau), (vec![], None, None));
    let world = world.borrow();
    // The mode `factor` needs all ranks.
    assert_eq!((&world.orders[0]["limit"], &world.orders[0]["current_order"]), (&Value::Null, &Value::Null));
    assert!(world.statuses[0].get("compared").is_none());
}

#[tokio::test]
async fn the_state_names_values_before_they_are_written() {
    let (world, clock, folder) = start();
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    assert_eq!((codes(&outcome), outcome.wanted_writes, outcome.written), (vec![], 2, 2));
    let values = [("1".to_owned(), 8), ("2".to_owned(), 9)].into();
    assert_eq!(world.borrow().state_at_write[0].written, values);
    // The next process takes them back.
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).reset().await;
    assert_eq!((codes(&outcome), outcome.written), (vec![], 2));
    assert_eq!(ConnectorState::load(folder.path()).unwrap().written, [].into());
}

#[tokio::test]
async fn weights_are_read_again_when_the_group_has_changed() {
    let (world, clock, folder) = start();
    let mut weighing = runner(&world, &clock, folder.path(), ConnectorMode::Weights);
    for (revision, reads) in [(1, 1), (1, 1), (2, 2)] {
        world.borrow_mut().revision = revision;
        assert_eq!(codes(&weighing.run().await), [""; 0]);
        assert_eq!((world.borrow().tree_reads, world.borrow().weight_changes), (reads, reads), "{revision}");
    }
    // Without the weights of the group nothing is written.
    world.borrow_mut().revision = 3;
    world.borrow_mut().refuses_trees = true;
    let outcome = weighing.run().await;
    assert_eq!((codes(&outcome), outcome.wanted_writes), (vec!["no_group"], 0));
    // The other modes have no use for them.
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    assert_eq!((codes(&outcome), world.borrow().tree_reads), (vec![], 3));
}

#[tokio::test]
async fn without_the_server_nothing_is_written_and_reports_wait() {
    let (world, clock, folder) = start();
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Order);
    runner.run().await;
    world.borrow_mut().is_server_away = true;
    clock.advance_seconds(60);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.spooled, outcome.written), (vec!["server_away"], 2, 0));
    assert_eq!(world.borrow().written.len(), 1);
    // After an hour, values go back to 0.
    clock.advance_seconds(3_600);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.written), (vec!["server_away"], 2));
    assert!(world.borrow().written[1].iter().all(|write| write.value == 0));
    world.borrow_mut().is_server_away = false;
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.reported, outcome.spooled, outcome.written), (vec![], 2, 0, 2));
}

#[tokio::test]
async fn rejected_rows_and_obstacles_stop_writes() {
    let (world, clock, folder) = start();
    world.borrow_mut().rejected = 1;
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    assert_eq!(
        (codes(&outcome), outcome.reported, outcome.rejected, outcome.is_ok()),
        (vec!["a_code", "missing_rows"], 1, 1, false)
    );
    world.borrow_mut().rejected = 0;
    world.borrow_mut().obstacle = true;
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    assert_eq!(codes(&outcome), ["priority_type"]);
    assert!(world.borrow().written.is_empty());
    // In the mode shadow it is no fault of a round.
    assert!(runner(&world, &clock, folder.path(), ConnectorMode::Shadow).run().await.is_ok());
}

#[tokio::test]
async fn rejected_rows_are_reported_again_and_stop_the_writes_of_later_rounds() {
    let (world, clock, folder) = start();
    world.borrow_mut().rejected = 1;
    runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    // Also another process knows of them, and reads again what was a day before.
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Order);
    world.borrow_mut().is_accounting_away = true;
    assert_eq!(codes(&runner.run().await), ["slurm_away", "missing_rows"]);
    clock.advance_seconds(15);
    assert_eq!(codes(&runner.run().await), ["slurm_away", "missing_rows"]);
    assert!(world.borrow().written.is_empty());
    // Rows that are too old are counted, and stop nothing.
    (world.borrow_mut().is_accounting_away, world.borrow_mut().too_old) = (false, 1);
    clock.advance_seconds(60);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.rejected, outcome.written), (vec!["a_code"], 1, 2));
    clock.advance_seconds(60);
    runner.run().await;
    let [before, now] = ["2026-01-12T11:00:00Z", "2026-01-13T11:00:00Z"].map(time);
    assert_eq!(world.borrow().read_since, [None, Some(before), Some(now)]);
}

#[tokio::test]
async fn a_row_that_is_refused_again_stops_no_order_and_stays_a_fault() {
    let (world, clock, folder) = start();
    world.borrow_mut().rejected = 1;
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Order);
    assert_eq!((codes(&runner.run().await), world.borrow().written.len()), (vec!["a_code", "missing_rows"], 0));
    clock.advance_seconds(60);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.written, outcome.is_ok()), (vec!["a_code", "missing_rows"], 2, false));
    assert!(outcome.fault_sentence().ends_with("the server refused 1: the order is made without them"), "{outcome:?}");
    // Once a reading was taken as a whole, the next refusal is waited for again.
    world.borrow_mut().rejected = 0;
    clock.advance_seconds(60);
    assert!(runner.run().await.is_ok());
    world.borrow_mut().rejected = 1;
    clock.advance_seconds(60);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.wanted_writes), (vec!["a_code", "missing_rows"], 0));
}

#[tokio::test]
async fn a_reading_that_is_too_large_stops_neither_older_reports_nor_the_order() {
    let (world, clock, folder) = start();
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Order);
    world.borrow_mut().is_server_away = true;
    runner.run().await;
    (world.borrow_mut().is_server_away, world.borrow_mut().lines) = (false, 1 << 17);
    clock.advance_seconds(60);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.reported, outcome.written), (vec!["spool_full"], 2, 2));
}

#[tokio::test]
async fn an_accounting_that_is_away_stops_no_order() {
    let (world, clock, folder) = start();
    world.borrow_mut().is_accounting_away = true;
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    assert_eq!((codes(&outcome), outcome.written), (vec!["slurm_away"], 2));
}

#[tokio::test]
async fn a_fault_of_a_reading_stays_until_the_next_reading_of_its_kind() {
    let (world, clock, folder) = start();
    world.borrow_mut().is_accounting_away = true;
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Shadow);
    assert_eq!(codes(&runner.run().await), ["slurm_away"]);
    // The accounting has come back, which no round knows before it is read again.
    (world.borrow_mut().is_accounting_away, world.borrow_mut().rejected) = (false, 1);
    clock.advance_seconds(15);
    assert_eq!(codes(&runner.run().await), ["slurm_away"]);
    // The refusal of a row stays likewise, and is counted once.
    clock.advance_seconds(45);
    for (seconds, rejected) in [(0, 1), (15, 0), (15, 0)] {
        clock.advance_seconds(seconds);
        let outcome = runner.run().await;
        assert_eq!((codes(&outcome), outcome.rejected), (vec!["a_code"], rejected));
    }
    world.borrow_mut().rejected = 0;
    clock.advance_seconds(60);
    assert!(runner.run().await.is_ok());
}

#[tokio::test]
async fn a_queue_that_cannot_be_read_stops_no_report() {
    let (world, clock, folder) = start();
    world.borrow_mut().is_queue_away = true;
    let outcome = runner(&world, &clock, folder.path(), ConnectorMode::Order).run().await;
    assert_eq!((codes(&outcome), outcome.reported, outcome.written), (vec!["unknown_format"], 2, 0));
}

#[test]
fn two_connectors_of_one_folder_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a/b");
    let first = InstanceLock::take(&state).unwrap();
    assert!(first.is_some() && InstanceLock::take(&state).unwrap().is_none());
    drop(first);
    assert!(InstanceLock::take(&state).unwrap().is_some());
}

#[test]
fn a_check_makes_neither_the_folder_nor_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a/b");
    assert!(matches!(InstanceLock::take_existing(&state).unwrap(), ExistingLock::Missing));
    assert!(!folder.path().join("a").exists());
    let taken = InstanceLock::take(&state).unwrap();
    assert!(matches!(InstanceLock::take_existing(&state).unwrap(), ExistingLock::Held));
    drop(taken);
    assert!(matches!(InstanceLock::take_existing(&state).unwrap(), ExistingLock::Taken(_)));
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(InstanceLock::take_existing(&folder.path().join("file")).is_err());
}

#[test]
fn reports_that_are_too_large_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let spool = ReportSpool::new(folder.path(), 4);
    let reports = |lines: &[u8]| SpooledReports { complete_until: None, lines: lines.to_vec() };
    assert!(spool.replace(&reports(b"{}\n")).unwrap());
    assert!(!spool.replace(&reports(b"{}\n{}\n")).unwrap());
    assert_eq!(spool.load().unwrap(), Some(reports(b"{}\n")));
    spool.clear().unwrap();
    spool.clear().unwrap();
    assert_eq!(spool.load().unwrap(), None);
}

#[tokio::test]
async fn the_tree_of_people_comes_before_the_reports() {
    let (world, clock, folder) = start();
    {
        let mut world = world.borrow_mut();
        (world.has_tree, world.is_connector, world.is_server_away) = (true, true, true);
    }
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Shadow);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.spooled), (vec!["server_away"], 2));
    // The tree waits for the server, and is read again at its own interval.
    world.borrow_mut().is_server_away = false;
    for (seconds, trees) in [(15, 1), (15, 1), (600, 2)] {
        clock.advance_seconds(seconds);
        assert_eq!(codes(&runner.run().await), Vec::<&str>::new());
        assert_eq!(world.borrow().trees.len(), trees);
    }
    // A tree that is refused ends no round.
    world.borrow_mut().refuses_trees = true;
    clock.advance_seconds(600);
    let outcome = runner.run().await;
    assert_eq!((codes(&outcome), outcome.reported), (vec!["too_many"], 2));
}

#[tokio::test]
async fn a_key_of_another_role_brings_no_tree() {
    let (world, clock, folder) = start();
    world.borrow_mut().has_tree = true;
    let mut runner = runner(&world, &clock, folder.path(), ConnectorMode::Shadow);
    for _ in 0..2 {
        let outcome = runner.run().await;
        assert_eq!((codes(&outcome), outcome.reported), (vec![], 2));
        clock.advance_seconds(600);
    }
    assert!(world.borrow().trees.is_empty());
}
