//! Generates the demo's cluster. The same `now`, seed and number of days always give the same cluster.

use super::groups::{DemoKernel, GROUPS, GroupPlan, NodeOutage};
use super::jobs;
use super::people::{GPU_CLUSTER, PEOPLE};
use super::random::SeededRandom;
use super::scheduler::DemoScheduler;
use crate::domain::time::{Day, SECONDS_PER_DAY};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoCluster {
    /// The first day of the history.
    pub first_day: Day,
    pub kernels: Vec<DemoKernel>,
    pub outages: Vec<NodeOutage>,
}

/// The history of `days` days up to `now` (Unix seconds).
pub fn generate(now: i64, seed: u64, days: u32) -> DemoCluster {
    let mut random = SeededRandom::seeded(seed);
    let today = Day(i32::try_from(now.div_euclid(SECONDS_PER_DAY)).unwrap_or(i32::MAX));
    let first_day = today.back(days);
    let start = i64::from(first_day.0) * SECONDS_PER_DAY;
    let jobs = jobs::submitted_jobs(now, first_day, today, &mut random);
    let mut cluster = DemoCluster { first_day, kernels: Vec::new(), outages: Vec::new() };
    for group in &GROUPS {
        let outages = outages(group, now, start, &mut random);
        let jobs = jobs.iter().copied().filter(|job| PEOPLE[job.person].group == group.name);
        let scheduler = DemoScheduler::new(group, start);
        cluster.kernels.extend(scheduler.into_iter().flat_map(|scheduler| scheduler.run(jobs.clone(), &outages, now)));
        cluster.outages.extend(outages);
    }
    cluster
}

/// Outages: about one for each node and month, for some hours, and none in the last day, except one node of the GPU
/// cluster that is down now.
fn outages(group: &GroupPlan, now: i64, start: i64, random: &mut SeededRandom) -> Vec<NodeOutage> {
    let mut outages = Vec::new();
    for node in 0..group.nodes {
        let mut at = start + random.range(0, 40 * SECONDS_PER_DAY);
        while at < now - 2 * SECONDS_PER_DAY {
            let until = at + random.range(1_800, 14 * 3_600);
            outages.push(NodeOutage { group: group.name, node, from: at, until });
            at = until + random.range(10 * SECONDS_PER_DAY, 50 * SECONDS_PER_DAY);
        }
    }
    if group.name == GPU_CLUSTER {
        outages.push(NodeOutage { group: group.name, node: group.nodes - 1, from: now - 5_400, until: now + 7_200 });
    }
    outages
}
