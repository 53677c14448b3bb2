//! The order in which the demo's past starts jobs: that of a server with the options of the group. It is computed by
//! the group of a replay, which records usage without a database.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::groups::GroupPlan;
use super::jobs::DemoJob;
use super::people::{DemoUser, KernelNeed, PEOPLE, PROJECTS, slots};
use super::policy::policy;
use crate::domain::identity;
use crate::domain::ids::{KernelKey, Member};
use crate::domain::replay::group::{ReplayGroup, WorkloadStart};
use crate::domain::replay::policy::ReplayPolicy;
use crate::domain::sequencer::SequenceWorkload;
use crate::domain::sequencer::progressive::ResourceRequest;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;

/// The interval of runs in the past. Shorter intervals would not change the order, because a progressive order also
/// counts unrecorded usage.
const SECONDS_BETWEEN_RUNS: i64 = 3_600;

pub(super) struct FairOrder {
    policy: ReplayPolicy,
    group: ReplayGroup,
    node: KernelNeed,
    /// The running kernels of the demo, with their keys in the group.
    running: HashMap<usize, KernelKey>,
    next_run: i64,
}

impl FairOrder {
    /// `None` if the group's options are not valid.
    pub fn new(plan: &GroupPlan, from: i64) -> Option<Self> {
        let policy = policy(plan)?;
        let now = Timestamp::from_seconds(from);
        let mut group = ReplayGroup::new(&policy, capacity(plan.node, plan.nodes), now);
        for person in PEOPLE.iter().filter(|person| person.group == plan.name) {
            group.add_owner(owner(person), &Arc::from(PROJECTS[person.project].1), &policy);
        }
        let next_run = from + SECONDS_BETWEEN_RUNS;
        Some(Self { policy, group, node: plan.node, running: HashMap::new(), next_run })
    }

    /// Sets the number of nodes that the group offers from now on.
    pub fn offer(&mut self, nodes: usize, at: i64) {
        self.group.offer(capacity(self.node, nodes), Timestamp::from_seconds(at));
    }

    pub fn start(&mut self, kernel: usize, job: &DemoJob, at: i64) {
        let start = WorkloadStart { owner: owner(&PEOPLE[job.person]), slots: slots(job.need), reported_seconds: None };
        self.running.insert(kernel, self.group.start(start, Timestamp::from_seconds(at)));
    }

    pub fn end(&mut self, kernel: usize, at: i64) {
        if let Some(key) = self.running.remove(&kernel) {
            self.group.end(key, Timestamp::from_seconds(at));
        }
    }

    /// The positions of `jobs`; the first one starts first.
    pub fn order(&mut self, jobs: &[DemoJob], at: i64) -> Vec<usize> {
        let now = Timestamp::from_seconds(at);
        if at >= self.next_run {
            self.group.run(now);
            self.next_run = at + SECONDS_BETWEEN_RUNS;
        }
        let sizes: Vec<SlotAmounts> = jobs.iter().map(|job| slots(job.need.times(job.members.into()))).collect();
        let requests: Vec<ResourceRequest> =
            sizes.iter().map(|slots| ResourceRequest { slots: Some(slots), seconds: None }).collect();
        let workloads: Vec<SequenceWorkload> = jobs.iter().map(workload).collect();
        let order = self.group.order(&self.policy, &[], (&workloads, &requests), now, jobs.len());
        order.into_iter().filter_map(|at| usize::try_from(at).ok()).collect()
    }
}

pub(super) fn owner(person: &DemoUser) -> Member {
    Member { user: identity::user(person.name), project: identity::project(PROJECTS[person.project].0) }
}

fn workload(job: &DemoJob) -> SequenceWorkload<'static> {
    SequenceWorkload {
        id: Cow::Owned(format!("{:08}", job.number)),
        owner: owner(&PEOPLE[job.person]),
        submitted_at: Some(Timestamp::from_seconds(job.submitted_at)),
        priority: 0,
    }
}

fn capacity(node: KernelNeed, nodes: usize) -> SlotAmounts {
    slots(node.times(i64::try_from(nodes).unwrap_or(i64::MAX)))
}
