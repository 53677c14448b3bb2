//! The workloads of a live group as a cycle takes them, made from kernels (CYCLE §1).
//!
//! Kernels know their placement rules each for itself, while a workload of a cycle has them once. The first kernel that waits
//! speaks for the others, and [`LiveWorkload::has_mixed_rules`] says where they differ.

use std::sync::Arc;

use super::request::workloads::{CyclePending, CycleRunning, MemberTemplate, WorkloadOwner};
use crate::expected_end::end_after;
use crate::placement_rules::{Labels, PlacementRules};
use crate::queues::LiveKernel;
use crate::reclaim::running_members;
use crate::time::{MICROS_PER_SECOND, Timestamp};
use crate::workloads::WorkloadMembers;

/// A workload with its queue and its place in the group's own order.
#[derive(Clone, Debug)]
pub struct LiveWorkload<'a> {
    pub members: &'a WorkloadMembers,
    pub queue: Arc<str>,
    /// `None`: after all that have one.
    pub position: Option<i64>,
}

impl LiveWorkload<'_> {
    /// True if the members that wait do not all have the same placement rules.
    pub fn has_mixed_rules(&self) -> bool {
        let mut rules = self.members.waiting_kernels().map(|kernel| &kernel.rules);
        let first = rules.next();
        rules.any(|other| Some(other) != first)
    }

    /// The members that wait; `None` if none does. They are numbered in the order of their kernels' ids.
    pub fn pending(&self) -> Option<CyclePending> {
        let first = self.members.waiting_kernels().next()?;
        let PlacementRules { labels, tolerations, affinity } = rules_of(first);
        // Where members have ended or are suspended, the others are all that is left of the minimum.
        let members = self.members.waiting_kernels().count() + self.members.running_kernels().count();
        let minimum = |minimum: u32| i64::from(minimum).min(i64::try_from(members).unwrap_or(i64::MAX));
        Some(CyclePending {
            workload_id: Arc::clone(&self.members.id),
            queue: Some(Arc::clone(&self.queue)),
            owner: WorkloadOwner::default(),
            priority: self.members.priority(),
            preemptible: self.members.is_preemptible(),
            submitted_at: self.members.waits_since(),
            expected_seconds: self.members.expected_seconds().map(i64::from),
            position: self.position,
            gang_min: self.members.gang_min().map(minimum),
            parallel_limit: None,
            labels,
            tolerations,
            affinity,
            max_per_agent: None,
            members: equal_members(self.members.waiting_kernels()),
        })
    }

    /// The members that run; `None` if none does. Suspended ones hold nothing. `learned_seconds` is the run time that is
    /// learned of the kernel's owner, for kernels without an expected one.
    pub fn running(&self, learned_seconds: impl Fn(&LiveKernel) -> Option<i64>) -> Option<CycleRunning> {
        let mut kernels: Vec<&LiveKernel> = self.members.running_kernels().collect();
        // The members that have run longest become the core of the gang.
        kernels.sort_by_key(|kernel| (kernel.started_at, kernel.id));
        let first = kernels.first()?;
        let PlacementRules { labels, affinity, .. } = rules_of(first);
        let started_at = kernels.iter().filter_map(|kernel| kernel.started_at).max();
        let seconds = |kernel: &LiveKernel| kernel.expected_seconds.map(i64::from).or_else(|| learned_seconds(kernel));
        let end = |kernel: &&LiveKernel| Some(end_after(kernel.started_at?, seconds(kernel)?));
        let ends: Option<Vec<Timestamp>> = kernels.iter().map(end).collect();
        let last_end = ends.and_then(|ends| ends.into_iter().max());
        Some(CycleRunning {
            workload_id: Arc::clone(&self.members.id),
            queue: Some(Arc::clone(&self.queue)),
            owner: WorkloadOwner::default(),
            priority: kernels.iter().map(|kernel| kernel.priority).max().unwrap_or_default(),
            preemptible: kernels.iter().all(|kernel| kernel.preemptible),
            critical: kernels.iter().any(|kernel| kernel.critical),
            created_at: kernels.iter().filter_map(|kernel| kernel.started_at).min(),
            started_at,
            expected_seconds: started_at.zip(last_end).map(|(start, end)| seconds_between(start, end)),
            gang_min: kernels.iter().filter_map(|kernel| kernel.gang_min).max(),
            labels,
            affinity,
            members: kernels.into_iter().flat_map(running_members).collect(),
        })
    }
}

fn rules_of(kernel: &LiveKernel) -> PlacementRules {
    kernel.rules.as_deref().cloned().unwrap_or_default()
}

/// One template for each run of equal kernels.
fn equal_members<'k>(kernels: impl Iterator<Item = &'k LiveKernel>) -> Vec<MemberTemplate> {
    let mut members: Vec<MemberTemplate> = Vec::new();
    for kernel in kernels {
        match members.last_mut() {
            Some(last) if last.slots == kernel.slots && last.priority == kernel.priority => last.count += 1,
            _ => members.push(MemberTemplate {
                slots: kernel.slots.clone(),
                count: 1,
                priority: kernel.priority,
                labels: Labels::default(),
            }),
        }
    }
    members
}

/// The time between the two in whole seconds, rounded up, and at least one.
fn seconds_between(start: Timestamp, end: Timestamp) -> i64 {
    let micros = end.micros().saturating_sub(start.micros()).max(1);
    (micros - 1) / MICROS_PER_SECOND + 1
}
