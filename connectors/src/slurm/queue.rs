//! The queue of Slurm: what `squeue` and `sprio` show, put together.
//!
//! Only a job that `sprio` lists may start: it leaves out jobs that are held, that depend on others, whose begin time lies
//! ahead, and for some seconds those that are new. Of those that it lists, jobs that a limit stops and jobs whose priority an
//! admin has set are counted and left alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::sprio::JobPriority;
use super::squeue::{JobStage, QueuedJob};
use super::tres::{SlotMapping, read_amounts};
use crate::accounted_owner::AccountedOwner;
use crate::eligible::EligibleWorkload;
use crate::owner_places::fill_owner_places;
use crate::scheduler::{JobCounts, QueueReading};

/// Reasons that name a limit without naming an association or a QOS.
const LIMIT_REASONS: [&str; 9] = [
    "JobArrayTaskLimit",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "PartitionDown",
    "PartitionInactive",
    "PartitionConfig",
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
];

/// The partitions of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionTiers {
    /// The `PriorityTier` of each partition.
    pub tiers: BTreeMap<String, u32>,
    /// The partitions whose jobs are ordered; `None`: all.
    pub ordered: Option<BTreeSet<String>>,
}

impl PartitionTiers {
    pub fn is_ordered(&self, partition: &str) -> bool {
        self.ordered.as_ref().is_none_or(|ordered| ordered.contains(partition))
    }

    fn tier(&self, partition: &str) -> u32 {
        self.tiers.get(partition).copied().unwrap_or_default()
    }
}

/// A job whose priority `sprio` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownJob {
    pub id: u64,
    /// The job that is written to: the first component of a heterogeneous job, otherwise the job itself.
    pub leader: u64,
    /// The array that it is a task of. A value that is written to the record of an array is written to all of its tasks.
    pub array: u64,
    /// The tier of its ordered partition with the highest one; `None` if no partition of it is ordered.
    pub tier: Option<u32>,
    pub priority: i64,
    pub site: i64,
    /// The priority without `SITE`, which nice may push below 0.
    pub own: i64,
    pub is_fixed: bool,
}

/// A reading of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmQueue {
    /// Jobs that `sprio` shows, by id.
    pub shown: BTreeMap<u64, ShownJob>,
    /// The stages of all jobs.
    pub stages: BTreeMap<u64, JobStage>,
    /// The ids of the eligible jobs, in the order of `workloads`.
    pub eligible_ids: Vec<u64>,
    workloads: Vec<EligibleWorkload>,
    counts: JobCounts,
}

impl QueueReading for SlurmQueue {
    fn counts(&self) -> JobCounts {
        self.counts
    }

    fn eligible(&self) -> &[EligibleWorkload] {
        &self.workloads
    }

    fn has_several_tiers(&self) -> bool {
        let mut tiers = self.eligible_ids.iter().filter_map(|id| self.shown.get(id)).map(|job| job.tier);
        let first = tiers.next();
        tiers.any(|tier| Some(tier) != first)
    }
}

impl SlurmQueue {
    /// The jobs of a sequence by tier, and the places of each owner in it filled with its `eligible` jobs in Slurm's own order: by
    /// priority without `SITE`, then by submission and number.
    pub fn with_own_order<'q>(
        &'q self,
        sequence: impl Iterator<Item = &'q ShownJob>,
        eligible: &BTreeSet<u64>,
    ) -> Vec<&'q ShownJob> {
        let workloads: BTreeMap<u64, &EligibleWorkload> =
            self.eligible_ids.iter().copied().zip(&self.workloads).collect();
        let owner = |job: &ShownJob| {
            let workload = *workloads.get(&job.id)?;
            Some((job.tier, &*workload.user, &*workload.project))
        };
        let mut sequence: Vec<&ShownJob> = sequence.collect();
        // Slurm looks at the jobs of a higher tier first, whatever their priority.
        sequence.sort_by_key(|job| Reverse(job.tier));
        let mut jobs: Vec<&ShownJob> = eligible.iter().filter_map(|id| self.shown.get(id)).collect();
        jobs.sort_by_key(|job| {
            (Reverse(job.own), workloads.get(&job.id).map(|workload| workload.submitted_at), job.id)
        });
        let jobs = jobs.into_iter().map(|job| (owner(job), job));
        fill_owner_places(sequence.into_iter().map(owner), jobs)
    }
}

/// Puts the two readings together.
pub fn join_readings(
    jobs: &[QueuedJob],
    priorities: &[JobPriority],
    partitions: &PartitionTiers,
    slots: &SlotMapping,
) -> SlurmQueue {
    let known: BTreeMap<u64, &QueuedJob> = jobs.iter().map(|job| (job.id, job)).collect();
    let mut queue = SlurmQueue {
        shown: show_jobs(priorities, partitions, &known),
        stages: jobs.iter().map(|job| (job.id, job.stage)).collect(),
        ..SlurmQueue::default()
    };
    queue.counts.jobs = jobs.len() as u64;
    let mut eligible: Vec<(&QueuedJob, &ShownJob)> = Vec::new();
    for job in jobs.iter().filter(|job| job.stage == JobStage::Pending) {
        let counts = &mut queue.counts;
        counts.pending += 1;
        let shown = queue.shown.get(&job.id);
        if job.priority == 0 {
            counts.held += 1;
        } else if job.reason.starts_with("Dependency") {
            counts.dependent += 1;
        } else if is_limited(&job.reason) {
            counts.limited += 1;
        } else if shown.is_some_and(|shown| shown.is_fixed) {
            counts.fixed += 1;
        } else if let Some(shown) = shown
            && job.reason != "BeginTime"
            && shown.tier.is_some()
            && shown.leader == job.id
        {
            eligible.push((job, shown));
        }
    }
    eligible.sort_by_key(|(job, shown)| (Reverse(shown.tier), Reverse(shown.priority), job.id));
    queue.counts.eligible = eligible.len() as u64;
    let components = |leader: u64| jobs.iter().filter(move |job| job.het_leader == Some(leader) && job.id != leader);
    for (job, shown) in eligible {
        queue.eligible_ids.push(job.id);
        let parts = job.het_leader.into_iter().flat_map(components);
        queue.workloads.push(workload(job, shown, parts, slots));
    }
    queue
}

fn workload<'j>(
    job: &QueuedJob,
    shown: &ShownJob,
    components: impl Iterator<Item = &'j QueuedJob>,
    slots: &SlotMapping,
) -> EligibleWorkload {
    // The order needs no slots, so that a list which cannot be read is left out.
    let lists: Vec<&str> = std::iter::once(&*job.tres).chain(components.map(|part| &*part.tres)).collect();
    // The same names as those of reports, so that a job waits for the owner that its usage counts for.
    let owner = AccountedOwner::with_usable_names(&job.user, &job.account, "");
    EligibleWorkload {
        workload_id: job.id.to_string(),
        user: owner.user,
        project: owner.project,
        submitted_at: job.submitted_at,
        priority: i32::try_from(shown.own.clamp(i32::MIN.into(), i32::MAX.into())).unwrap_or_default(),
        requested_slots: read_amounts(&lists.join(","), slots).unwrap_or_default(),
    }
}

/// True for a reason that names a limit. An array may have several reasons, one for each record of its tasks.
fn is_limited(reason: &str) -> bool {
    let is_limit =
        |reason: &str| reason.starts_with("Assoc") || reason.starts_with("QOS") || LIMIT_REASONS.contains(&reason);
    reason.split(',').any(is_limit)
}

/// One entry for each job of `sprio`: that of its ordered partition with the highest tier.
fn show_jobs(
    priorities: &[JobPriority],
    partitions: &PartitionTiers,
    known: &BTreeMap<u64, &QueuedJob>,
) -> BTreeMap<u64, ShownJob> {
    let mut shown: BTreeMap<u64, ShownJob> = BTreeMap::new();
    for line in priorities {
        let JobPriority { job, partition, priority, site, own, is_fixed, .. } = line;
        let tier = partitions.is_ordered(partition).then(|| partitions.tier(partition));
        let listed = known.get(job);
        let new = ShownJob {
            id: *job,
            leader: listed.and_then(|listed| listed.het_leader).unwrap_or(*job),
            array: listed.map_or(*job, |listed| listed.array),
            tier,
            priority: *priority,
            site: *site,
            own: *own,
            is_fixed: *is_fixed,
        };
        let kept = shown.entry(*job).or_insert_with(|| new.clone());
        if new.tier > kept.tier {
            *kept = new;
        }
    }
    shown
}
