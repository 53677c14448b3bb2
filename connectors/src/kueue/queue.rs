//! The Workloads of a cluster as a queue: what may start, in Kueue's own order, and what is left alone and why.
//!
//! Kueue orders the Workloads of a `ClusterQueue` by their effective priority, which is the priority of their class plus the boost, and
//! then by time. Across queues it has no order; here they stand in the same one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use domain::time::Timestamp;

use super::amounts::QuantityMapping;
use super::objects::{KueueWorkload, WorkloadFacts, timestamp};
use super::owners::{QueueDirectory, is_stopped};
use crate::eligible::EligibleWorkload;
use crate::scheduler::{JobCounts, QueueReading};
use crate::slot_amounts::amount_texts;

/// Reasons of a Workload without quota that stay until its queue or its own requests are changed.
const LIMITED_REASONS: [&str; 4] = ["Inadmissible", "Misconfigured", "NoMatchingFlavor", "ExceedsMaxQuota"];
const HELD_REASONS: [&str; 2] = ["OnHold", "Suspended"];

/// The part of its life that a Workload is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadStage {
    Pending,
    /// It has quota, and may run.
    Admitted,
    Finished,
}

/// A Workload as the plan of writes needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownWorkload {
    pub stage: WorkloadStage,
    /// The priority of its class.
    pub priority: i32,
    /// The boost that it has; `None` if there is none, or no number.
    pub boost: Option<i64>,
    pub has_annotation: bool,
    /// True if the connector has written the annotation, or may have.
    pub is_ours: bool,
    /// False in a queue that gets no values.
    pub takes_values: bool,
}

/// A reading of the Workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KueueQueue {
    /// All Workloads, by namespace and name.
    pub shown: BTreeMap<String, ShownWorkload>,
    workloads: Vec<EligibleWorkload>,
    counts: JobCounts,
    has_several_priorities: bool,
}

impl QueueReading for KueueQueue {
    fn counts(&self) -> JobCounts {
        self.counts
    }

    fn eligible(&self) -> &[EligibleWorkload] {
        &self.workloads
    }

    /// Priorities of classes come first, as boosts stay within their class.
    fn has_several_tiers(&self) -> bool {
        self.has_several_priorities
    }
}

impl KueueQueue {
    /// Counts LocalQueues whose weight another writer has set.
    pub fn count_fixed(&mut self, queues: u64) {
        self.counts.fixed += queues;
    }

    /// The priorities of the classes of all Workloads that have not finished, in order.
    pub fn priorities(&self) -> BTreeSet<i32> {
        let unfinished = self.shown.values().filter(|workload| workload.stage != WorkloadStage::Finished);
        unfinished.map(|workload| workload.priority).collect()
    }
}

/// The reason why a pending Workload may not start.
enum PendingHold {
    Held,
    Dependent,
    Limited,
}

fn stage(workload: &KueueWorkload) -> WorkloadStage {
    if workload.is_finished() {
        WorkloadStage::Finished
    } else if workload.has_quota() {
        WorkloadStage::Admitted
    } else {
        WorkloadStage::Pending
    }
}

fn hold(workload: &KueueWorkload, directory: QueueDirectory<'_>, now: Timestamp) -> Option<PendingHold> {
    let reason = workload.condition("QuotaReserved").map(|condition| &*condition.reason).unwrap_or_default();
    let Some((local, cluster)) = directory.queues_of_workload(workload) else { return Some(PendingHold::Limited) };
    let is_held = workload.spec.active == Some(false)
        || workload.metadata.deletion_timestamp.is_some()
        || is_stopped(local.spec.stop_policy.as_deref())
        || is_stopped(cluster.spec.stop_policy.as_deref())
        || HELD_REASONS.contains(&reason);
    if is_held {
        return Some(PendingHold::Held);
    }
    if workload.is_gated(now) {
        return Some(PendingHold::Dependent);
    }
    let conditions = cluster.status.as_ref().map(|status| &*status.conditions).unwrap_or_default();
    let is_inactive = conditions.iter().any(|condition| condition.type_ == "Active" && condition.status == "False");
    (is_inactive || LIMITED_REASONS.contains(&reason)).then_some(PendingHold::Limited)
}

/// Reads the queue. `written` are the values that the connector has written and not taken back.
pub fn read_queue(
    workloads: &BTreeMap<String, KueueWorkload>,
    directory: QueueDirectory<'_>,
    mapping: &QuantityMapping,
    written: &BTreeMap<String, i64>,
    now: Timestamp,
) -> KueueQueue {
    let mut queue = KueueQueue::default();
    let mut eligible: Vec<(&String, &KueueWorkload, i64)> = Vec::new();
    for (key, workload) in workloads {
        let is_ours = workload.is_boost_ours(written.contains_key(key));
        let queues = directory.queues_of_workload(workload);
        let shown = ShownWorkload {
            stage: stage(workload),
            priority: workload.base_priority(),
            boost: workload.boost_text().and_then(|text| text.parse::<i32>().ok()).map(i64::from),
            has_annotation: workload.boost_text().is_some(),
            is_ours,
            takes_values: queues.is_some_and(|(_, cluster)| directory.obstacle_of(cluster).is_none()),
        };
        let effective = i64::from(shown.priority) + shown.boost.unwrap_or_default();
        let (counts, is_fixed) = (&mut queue.counts, shown.has_annotation && !is_ours);
        counts.jobs += u64::from(shown.stage != WorkloadStage::Finished);
        if shown.stage == WorkloadStage::Pending {
            counts.pending += 1;
            match hold(workload, directory, now) {
                Some(PendingHold::Held) => counts.held += 1,
                Some(PendingHold::Dependent) => counts.dependent += 1,
                Some(PendingHold::Limited) => counts.limited += 1,
                None if is_fixed => counts.fixed += 1,
                None => eligible.push((key, workload, effective)),
            }
        }
        queue.shown.insert(key.clone(), shown);
    }
    eligible.sort_by_key(|(_, workload, effective)| {
        (Reverse(*effective), submitted_at(workload), workload.metadata.uid.clone())
    });
    queue.counts.eligible = eligible.len() as u64;
    let priorities: BTreeSet<i32> = eligible.iter().map(|(_, workload, _)| workload.base_priority()).collect();
    queue.has_several_priorities = priorities.len() > 1;
    let mut same_second: BTreeMap<(String, String, Timestamp), i64> = BTreeMap::new();
    for (key, workload, _) in eligible {
        let (owner, submitted_at) = (directory.owner_of(workload), submitted_at(workload));
        // The server orders the Workloads of one second by their ids. Later ones of the same second therefore get some microseconds more,
        // so that it has them in the order of Kueue.
        let before = same_second.entry((owner.user.clone(), owner.project.clone(), submitted_at)).or_default();
        queue.workloads.push(EligibleWorkload {
            workload_id: key.clone(),
            user: owner.user,
            project: owner.project,
            submitted_at: submitted_at.plus_micros(*before),
            priority: workload.base_priority(),
            requested_slots: amount_texts(&mapping.requested(workload)),
        });
        *before += 1;
    }
    queue
}

fn submitted_at(workload: &KueueWorkload) -> Timestamp {
    workload.metadata.creation_timestamp.as_ref().map_or(Timestamp::from_micros(0), timestamp)
}
