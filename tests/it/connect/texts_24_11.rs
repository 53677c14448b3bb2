//! The readers of the texts of Slurm's programs with those that Slurm 24.11.5 printed.

use fairshared::cli::connect::run_conversion::convert_runs;
use fairshared::connectors::scheduler::{JobCounts, QueueReading};
use fairshared::connectors::slurm::queue::{PartitionTiers, join_readings};
use fairshared::connectors::slurm::sacct::{ConversionChoices, read_backlog};
use fairshared::connectors::slurm::sacctmgr::read_tree;
use fairshared::connectors::slurm::scontrol::{is_denied, is_only_gone, read_config, read_nodes, read_partitions};
use fairshared::connectors::slurm::sprio::read_priorities;
use fairshared::connectors::slurm::squeue::read_jobs;
use fairshared::connectors::slurm::tres::SlotMapping;
use serde_json::{Value, json};

use super::recorded::slurm_24_11 as recorded;

#[test]
fn the_queue_is_that_of_squeue_and_sprio() {
    let partitions = PartitionTiers { tiers: read_partitions(recorded::PARTITIONS).unwrap(), ordered: None };
    assert_eq!(partitions.tiers, [("high".to_owned(), 10), ("main".to_owned(), 1)].into());
    let (jobs, priorities) = (read_jobs(recorded::SQUEUE).unwrap(), read_priorities(recorded::SPRIO).unwrap());
    let fixed: Vec<u64> = priorities.iter().filter(|line| line.is_fixed).map(|line| line.job).collect();
    assert_eq!(fixed, [12]);
    let queue = join_readings(&jobs, &priorities, &partitions, &SlotMapping::default());
    // 3 and 13 wait for their time, 11 is held, 14 depends on it, 12 is fixed, and 18 is a component of 17.
    assert_eq!(queue.eligible_ids[..3], [15, 17, 16]);
    let JobCounts { jobs, pending, held, dependent, fixed, .. } = queue.counts();
    assert_eq!([jobs, pending, held, dependent, fixed], [15, 13, 1, 1, 1]);
    let own: Vec<i64> = [15, 17, 16, 8].iter().map(|id| queue.shown[id].own).collect();
    assert_eq!(own, [0, 0, -100, 0]);
}

#[test]
fn runs_are_kernels() {
    let tree = read_tree(recorded::ASSOCIATIONS).unwrap();
    let choices = ConversionChoices { resource_group: "rig", slots: &[].into(), tree: &tree };
    let runs = convert_runs(recorded::SACCT, &choices).unwrap();
    assert_eq!((runs.unreadable_rows, &*runs.reasons), (0, &[][..]));
    let line = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let seen: Vec<(&str, Value)> = runs.runs.iter().map(|run| (&*run.job, line(&run.line)["status"].clone())).collect();
    let (ended, runs) = (json!("TERMINATED"), json!("RUNNING"));
    let expected = [("1", &ended), ("2", &ended), ("3", &ended), ("4", &runs), ("6", &ended), ("7", &runs)];
    assert_eq!(seen, expected.map(|(job, status)| (job, status.clone())));
}

#[test]
fn the_cluster_is_that_of_scontrol_and_sdiag() {
    let config = read_config(recorded::CONFIG).unwrap();
    assert_eq!((&*config.cluster, &*config.version, config.fairshare_weight), ("rig", "24.11.5", 0));
    assert_eq!(read_backlog(recorded::SDIAG).unwrap(), 0);
    let agents = read_nodes(recorded::NODES, &SlotMapping::default()).unwrap();
    let seen: Vec<_> = agents.iter().map(|agent| (&*agent.agent_id, agent.alive, agent.schedulable)).collect();
    assert_eq!(seen, [("n1", true, true), ("n2", true, true)]);
    assert_eq!(json!(agents[0].available_slots), json!({"billing": "4", "cpu": "4", "mem": "4194304000"}));
}

#[test]
fn messages_of_refused_writes() {
    // A job that never was, two that have ended, and a user without the right.
    let messages: Vec<&str> = recorded::MESSAGES.lines().filter(|line| !line.starts_with("rc ")).collect();
    let gone = [0, 1, 3].map(|at| messages[at]);
    assert!(gone.iter().all(|message| is_only_gone(message) && !is_denied(message)), "{gone:?}");
    assert!(is_denied(messages[2]), "{messages:?}");
}
