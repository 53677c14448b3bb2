//! The queue of a pool: what `condor_q` and `condor_userprio` show, put together.
//!
//! Only an idle job may start. Of these, the jobs of a user whose factor an admin has set are counted and left alone: a factor
//! that is neither the default nor one that the connector has written.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::jobs::{CondorJob, CondorStage};
use super::users::{LEAST_REAL_PRIORITY, NegotiatorUser};
use crate::eligible::EligibleWorkload;
use crate::scheduler::{JobCounts, QueueReading};

/// A reading of the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CondorQueue {
    /// The users of the negotiator, by their accounting principals.
    pub users: BTreeMap<String, NegotiatorUser>,
    /// The accounting principals of the eligible jobs, by the ids of these.
    pub principals: BTreeMap<String, String>,
    workloads: Vec<EligibleWorkload>,
    counts: JobCounts,
}

impl QueueReading for CondorQueue {
    fn counts(&self) -> JobCounts {
        self.counts
    }

    fn eligible(&self) -> &[EligibleWorkload] {
        &self.workloads
    }
}

/// True if an admin has set the factor of a user: it is neither the default nor one that was written by the connector.
pub fn is_fixed(
    principal: &str,
    user: Option<&NegotiatorUser>,
    default_factor: i64,
    written: &BTreeMap<String, i64>,
) -> bool {
    user.is_some_and(|user| !user.has_factor(default_factor)) && !written.contains_key(principal)
}

/// Puts the two readings together. Jobs of universes without slots are counted, and nothing else.
pub fn join_readings(
    jobs: &[CondorJob],
    users: BTreeMap<String, NegotiatorUser>,
    default_factor: i64,
    written: &BTreeMap<String, i64>,
) -> CondorQueue {
    let mut queue = CondorQueue { users, ..CondorQueue::default() };
    queue.counts.jobs = jobs.len() as u64;
    let mut eligible: Vec<&CondorJob> = Vec::new();
    for job in jobs.iter().filter(|job| job.uses_slots) {
        let is_fixed = is_fixed(&job.principal, queue.users.get(&job.principal), default_factor, written);
        let counts = &mut queue.counts;
        match job.stage {
            CondorStage::Active | CondorStage::Ending => {}
            CondorStage::Held => (counts.pending, counts.held) = (counts.pending + 1, counts.held + 1),
            CondorStage::Idle if is_fixed => {
                (counts.pending, counts.fixed) = (counts.pending + 1, counts.fixed + 1);
            }
            CondorStage::Idle => {
                counts.pending += 1;
                eligible.push(job);
            }
        }
    }
    // A user that the negotiator does not know yet gets the default factor and the least real priority.
    let new_priority = LEAST_REAL_PRIORITY * default_factor as f64;
    let priority = |job: &CondorJob| queue.users.get(&job.principal).map_or(new_priority, |user| user.priority);
    let in_order = |one: &&CondorJob, other: &&CondorJob| -> Ordering {
        let by_user = priority(one).total_cmp(&priority(other)).then_with(|| one.principal.cmp(&other.principal));
        by_user.then_with(|| one.place.cmp(&other.place))
    };
    eligible.sort_by(in_order);
    queue.counts.eligible = eligible.len() as u64;
    queue.principals = eligible.iter().map(|job| (job.id.clone(), job.principal.clone())).collect();
    let mut before: Option<&CondorJob> = None;
    let mut same_second = 0;
    for job in eligible {
        // The server orders the jobs of one second by their ids. Later ones of the same second therefore get some microseconds more, so
        // that it has them in the order of the schedd.
        let is_same =
            before.is_some_and(|before| before.principal == job.principal && before.submitted_at == job.submitted_at);
        same_second = if is_same { same_second + 1 } else { 0 };
        before = Some(job);
        queue.workloads.push(EligibleWorkload {
            workload_id: job.id.clone(),
            user: job.owner.user.clone(),
            project: job.owner.project.clone(),
            submitted_at: job.submitted_at.plus_micros(same_second),
            priority: job.priority,
            requested_slots: job.requested_slots.clone(),
        });
    }
    queue
}
