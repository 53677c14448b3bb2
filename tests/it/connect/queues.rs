//! The jobs that may start, and those that are left alone.

use std::collections::BTreeSet;

use fairshared::connectors::scheduler::{JobCounts, QueueReading};
use fairshared::connectors::slurm::queue::{PartitionTiers, SlurmQueue, join_readings};
use fairshared::connectors::slurm::scontrol::read_partitions;
use fairshared::connectors::slurm::sprio::read_priorities;
use fairshared::connectors::slurm::squeue::read_jobs;
use fairshared::connectors::slurm::tres::SlotMapping;
use serde_json::json;

use super::recorded;

fn queue(ordered: Option<&[&str]>) -> SlurmQueue {
    let jobs = read_jobs(recorded::SQUEUE).unwrap();
    let priorities = read_priorities(recorded::SPRIO).unwrap();
    let tiers = read_partitions(recorded::PARTITIONS).unwrap();
    let ordered = ordered.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
    join_readings(&jobs, &priorities, &PartitionTiers { tiers, ordered }, &SlotMapping::default())
}

#[test]
fn jobs_that_may_start_are_in_slurms_order() {
    let queue = queue(None);
    // The tier of `high` comes before a higher priority; the second component of 42 is not listed.
    assert_eq!(queue.eligible_ids, [40, 42, 41, 33]);
    let counts = JobCounts { jobs: 16, pending: 12, eligible: 4, held: 1, dependent: 1, limited: 3, fixed: 1 };
    assert_eq!(queue.counts(), counts);
    let het = &queue.eligible()[1];
    assert_eq!((&*het.workload_id, &*het.user, &*het.project), ("42", "mail", "ocean"));
    assert_eq!(json!(het.requested_slots), json!({"billing": "9", "cpu": "9", "mem": "31457280"}));
    // The order of one owner's jobs is without SITE.
    assert_eq!(queue.eligible().iter().map(|job| job.priority).collect::<Vec<_>>(), [0, 0, 900, 0]);
}

#[test]
fn other_partitions_are_left_out() {
    assert_eq!(queue(Some(&["high"])).eligible_ids, [40]);
    assert_eq!(queue(Some(&["main"])).eligible_ids, [42, 40, 41, 33]);
}
