//! The plans of writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::api::sequence::ServerOrder;
use fairshared::cli::connect::run_conversion::convert_runs;
use fairshared::connectors::scheduler::{QueueReading, SchedulerConnector, ValueWrite, WriteAim, WritePlan};
use fairshared::connectors::slurm::SlurmConnector;
use fairshared::connectors::slurm::queue::{PartitionTiers, SlurmQueue, join_readings};
use fairshared::connectors::slurm::scontrol::{read_config, read_partitions};
use fairshared::connectors::slurm::settings::SlurmSettings;
use fairshared::connectors::slurm::sprio::read_priorities;
use fairshared::connectors::slurm::squeue::read_jobs;
use fairshared::connectors::slurm::tres::SlotMapping;
use fairshared::connectors::state_file::ConnectorState;
use fairshared::domain::connectors::ConnectorMode;
use fairshared::service::SystemClock;
use serde_json::json;

use super::recorded;

fn queue(jobs: &str, priorities: &str) -> SlurmQueue {
    let tiers = read_partitions(recorded::PARTITIONS).unwrap();
    let partitions = PartitionTiers { tiers, ordered: None };
    let (jobs, priorities) = (read_jobs(jobs).unwrap(), read_priorities(priorities).unwrap());
    join_readings(&jobs, &priorities, &partitions, &SlotMapping::default())
}

fn recorded_queue() -> SlurmQueue {
    queue(recorded::SQUEUE, recorded::SPRIO)
}

fn settings_of(mode: ConnectorMode) -> SlurmSettings {
    let mut settings = SlurmSettings::default();
    settings.common.mode = mode;
    settings
}

fn plan(mode: ConnectorMode, queue: &SlurmQueue, written: &[(&str, i64)], order: Option<&[u64]>) -> WritePlan {
    plan_with(settings_of(mode), queue, written, order)
}

fn plan_with(settings: SlurmSettings, queue: &SlurmQueue, written: &[(&str, i64)], order: Option<&[u64]>) -> WritePlan {
    let connector =
        SlurmConnector::new(settings, read_config(recorded::CONFIG).unwrap(), convert_runs, Arc::new(SystemClock));
    let written: BTreeMap<String, i64> = written.iter().map(|(job, value)| ((*job).to_owned(), *value)).collect();
    let state = ConnectorState { written, ..ConnectorState::default() };
    let items = order.unwrap_or_default().iter().zip(1..);
    let items = items.map(|(id, rank)| json!({"workload_id": id.to_string(), "rank": rank})).collect::<Vec<_>>();
    let order_answer: ServerOrder = serde_json::from_value(json!({"items": items})).unwrap();
    let aim = if order.is_some() { WriteAim::Follow(&order_answer) } else { WriteAim::Reset };
    connector.plan_writes(queue, &state, aim).unwrap()
}

fn writes(plan: &WritePlan) -> Vec<(&str, i64)> {
    plan.writes.iter().map(|write| (&*write.job, write.value)).collect()
}

#[test]
fn the_tier_comes_before_the_order_of_the_server() {
    // 42 and 40 have values already, and 33 and 41 come between; the highest own priority is 900.
    let plan = plan(ConnectorMode::Order, &recorded_queue(), &[], Some(&[33, 42, 40, 41]));
    assert_eq!(writes(&plan), [("40", 6_000), ("33", 5_000), ("41", 1_550)]);
    assert_eq!(plan.kept.iter().map(|write| &*write.job).collect::<Vec<_>>(), ["42"]);
}

#[test]
fn the_head_is_chosen_by_tier_first() {
    let queue = recorded_queue();
    assert!(queue.has_several_tiers());
    let mut settings = settings_of(ConnectorMode::Order);
    settings.common.head = 1;
    // 40 is the last in the order of the server, and its partition is the first for Slurm. It keeps its value.
    let plan = plan_with(settings, &queue, &[], Some(&[33, 42, 41, 40]));
    assert_eq!(writes(&plan), [("42", 0)]);
    assert_eq!(plan.kept.iter().map(|write| &*write.job).collect::<Vec<_>>(), ["40"]);
    assert!(!simple_queue(&[(1, "1|0|0|0|0|0|0|0|0"), (2, "1|0|0|0|0|0|0|0|0")]).has_several_tiers());
}

/// Jobs of one partition, each of a user of its own, and what `sprio` prints of each behind its partition.
fn simple_queue(jobs: &[(u64, &str)]) -> SlurmQueue {
    let row =
        |(id, _): &(u64, &str)| format!("{id}|N/A|{id}|PENDING|Priority|u{id}|climate|main|1795993825|1|cpu=1|\n");
    let shown = |(id, terms): &(u64, &str)| format!("{id}|main|{terms}|\n");
    queue(&jobs.iter().map(row).collect::<String>(), &jobs.iter().map(shown).collect::<String>())
}

#[test]
fn a_nice_below_0_is_outweighed() {
    // Nice pushes 1 down to -4900 or -4901, which sprio shows as 1; 3 is pushed so far that it is left there.
    let terms = [(1, "1|0|100|0|0|0|0|0|5000"), (2, "300|0|300|0|0|0|0|0|0"), (3, "1|0|0|0|0|0|0|0|2000000")];
    let found = plan(ConnectorMode::Order, &simple_queue(&terms), &[], Some(&[1, 3, 2]));
    assert_eq!(writes(&found), [("1", 7_201), ("2", 1_000)]);
    // These values give the order already, so that nothing is written again.
    let terms = [(1, "2301|7201|100|0|0|0|0|0|5000"), (2, "1300|1000|300|0|0|0|0|0|0"), terms[2]];
    let found = plan(ConnectorMode::Order, &simple_queue(&terms), &[], Some(&[1, 3, 2]));
    assert_eq!(writes(&found), []);
}

#[test]
fn the_jobs_of_one_owner_have_the_order_of_slurm() {
    let row = |id: u64, user: &str, submitted: u64| {
        format!("{id}|N/A|{id}|PENDING|Priority|{user}|climate|main|{submitted}|1|cpu=1|\n")
    };
    // 9 and 10 were submitted in the same second, 8 later, and 11 has less nice.
    let rows = [(9, "ann", 5), (10, "ann", 5), (8, "ann", 6), (11, "ann", 7), (12, "bob", 5)];
    let jobs: String = rows.map(|(id, user, submitted)| row(id, user, submitted)).concat();
    let shown: String = [(8, 40), (9, 40), (10, 40), (11, 50), (12, 40)]
        .map(|(id, priority)| format!("{id}|main|{priority}|0|{priority}|0|0|0|0|0|0|\n"))
        .concat();
    let queue = queue(&jobs, &shown);
    let order_of = |order: &[u64]| {
        let plan = plan(ConnectorMode::Order, &queue, &[], Some(order));
        plan.writes.into_iter().map(|write| write.job).collect::<Vec<_>>()
    };
    assert_eq!(order_of(&[10, 12, 11, 8, 9]), ["11", "12", "9", "10", "8"]);
    // The head of an order may name a later job of an owner.
    assert_eq!(order_of(&[12, 10]), ["12", "11"]);
}

#[test]
fn what_leaves_the_window_goes_back() {
    // 28 runs, 36 is held, and 99 has gone. Only 33 is in the window.
    let written = [("28", 5), ("36", 6), ("99", 7)];
    let plan = plan(ConnectorMode::Order, &recorded_queue(), &written, Some(&[33]));
    assert_eq!(writes(&plan), [("33", 1_900), ("40", 0), ("42", 0), ("28", 0), ("36", 0)]);
    assert_eq!(plan.gone, ["99"]);
}

#[test]
fn a_requeued_job_that_still_ends_is_not_forgotten() {
    let row = |state: &str| format!("7|N/A|7|{state}|None|games|climate|main|1795993825|1|cpu=1|\n");
    for (jobs, gone) in [(row("COMPLETING"), vec![]), (String::new(), vec![]), (row("RUNNING"), vec!["8"])] {
        let written = if gone.is_empty() { vec![("7", 5)] } else { vec![("8", 5)] };
        let plan = plan(ConnectorMode::Order, &queue(&jobs, ""), &written, Some(&[]));
        assert_eq!((writes(&plan), plan.gone.iter().map(|job| &**job).collect()), (vec![], gone));
    }
}

#[test]
fn values_by_rank() {
    let plan = plan(ConnectorMode::Factor, &recorded_queue(), &[], Some(&[33, 42, 40, 41]));
    assert_eq!(writes(&plan), [("33", 100_000), ("42", 75_000), ("40", 50_000), ("41", 25_000)]);
}

#[test]
fn a_reset_writes_to_all_that_have_a_value_and_to_those_whose_value_is_not_shown() {
    let plan = plan(ConnectorMode::Shadow, &recorded_queue(), &[], None);
    let unshown = ["28", "29", "30", "31", "32", "34", "36", "38", "39"];
    assert_eq!(writes(&plan), ["40", "42"].into_iter().chain(unshown).map(|job| (job, 0)).collect::<Vec<_>>());
}

#[test]
fn a_bound_does_not_part_an_array_from_its_tasks() {
    let write = |job: &str| ValueWrite { job: job.to_owned(), value: 1 };
    let writes = ["1", "44", "46", "47", "2"].map(write).to_vec();
    let joined = ["46", "47"].map(str::to_owned).into();
    let mut plan = WritePlan { writes, joined, ..WritePlan::default() };
    assert_eq!([1, 2, 3, 4, 5, 9].map(|limit| plan.bounded_count(limit)), [1, 1, 1, 4, 5, 5]);
    // An array in front is written whole, because otherwise it would never be written.
    plan.writes.remove(0);
    assert_eq!([1, 2, 3, 4].map(|limit| plan.bounded_count(limit)), [3, 3, 3, 4]);
    assert_eq!(WritePlan::default().bounded_count(5), 0);
}

#[test]
fn tasks_are_written_behind_their_array() {
    let job = |id: u64| format!("{id}|N/A|44|PENDING|Priority|u{id}|climate|main|1795993825|1|cpu=1|\n");
    let jobs: String = [44, 46, 47].map(job).concat() + &job(99).replace("|44|", "|99|");
    let shown = "99|main|1|0|0|0|0|0|0|0|0|\n44|main|1|0|0|0|0|0|0|0|0|\n46|main|1|0|0|0|0|0|0|0|0|\n47|main|1|0|0|0|0|0|0|0|0|\n";
    let plan = plan(ConnectorMode::Order, &queue(&jobs, shown), &[], Some(&[46, 44, 99]));
    assert_eq!(writes(&plan), [("44", 2_001), ("46", 3_001), ("47", 0), ("99", 1_001)]);
    assert_eq!(plan.joined, ["46", "47"].map(str::to_owned).into());
}
