//! The input of a plan, with all names resolved to indices. This is done once, so that the search neither hashes nor
//! compares names.
//!
//! A snapshot never changes during a search. Tentative changes are kept elsewhere: `holdings` has what queues and
//! workloads hold, `free_capacity` has what agents have free, and a `board` has both.
//!
//! Conventions:
//! - Queues, workloads ([`SnapshotWorkload`]), members and agents are indices in the lists of the input. The members of all running
//!   workloads follow each other in one list, so that a workload is a range of members, and so is a kernel, which is one member on
//!   each of its agents. The core of a gang is the first part of its range.
//! - Amounts of members are pairs (column of the tree, units of 10^-12) without zeros.
//! - The reclaimer's path is its queue and the ancestors upwards; a *step* is an index on this path. Every other queue
//!   has a [`ComparedQueues`], the two siblings that the rules compare (DIVISION appendix B).
//! - The total work of taking all victims is bounded by [`MAX_CHANGES`]; a larger input is refused.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::input::{PendingGang, ReclaimAgent, ReclaimInput, RunningWorkload, begin_kernels};
use super::plan_options::PlanOptions;
use crate::decimal::Amount;
use crate::division::tree::faults::unknown_queue;
use crate::division::{QueueAllocation, QueueSlotGrid, QueueTree};
use crate::fault::{Fault, MAX_FAULTS};
use crate::maps::FastMap;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// The index for no agent, or for an agent that the input does not contain.
pub const NO_AGENT: usize = usize::MAX;

/// A running workload, at the same index as in the input.
pub struct SnapshotWorkload {
    pub queue: usize,
    pub members: Range<usize>,
    /// The number of kernels that the members are parts of. Only a kernel on several agents has several parts.
    pub kernels: usize,
    /// The number of first kernels that are the core of the gang.
    pub core_kernels: usize,
    /// The number of first members that are parts of the core.
    pub core: usize,
}

/// Members that are evicted together: the parts of one surplus kernel, or the core of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionUnit {
    pub job: usize,
    pub queue: usize,
    pub members: Range<usize>,
    pub is_core: bool,
}

pub struct SnapshotMember {
    pub agent: usize,
    begins_kernel: bool,
    cells: Range<usize>,
}

/// The two queues that are compared for a victim of some queue: the ancestors of reclaimer and victim just below their
/// lowest common ancestor (DIVISION appendix B).
#[derive(Clone, Copy)]
pub struct ComparedQueues {
    /// The reclaimer's side.
    pub ours: usize,
    /// The index of `ours` on the reclaimer's path.
    pub step: usize,
    pub theirs: usize,
}

/// The largest sum of members x ancestors of their queues x slots: a member that is evicted is subtracted from each of
/// these cells.
const MAX_CHANGES: usize = 50_000_000;

/// The running workloads of a snapshot, without anything that depends on the pending workload. Plans for several pending
/// workloads have one index in common.
pub struct RunningIndex {
    pub jobs: Vec<SnapshotWorkload>,
    pub members: Vec<SnapshotMember>,
    cells: Vec<(usize, u128)>,
    job_starts: Vec<usize>,
    jobs_by_queue: Vec<usize>,
    /// By queue: the number of queues on its path, itself included.
    depths: Vec<usize>,
}

pub struct ReclaimSnapshot<'a> {
    pub tree: &'a QueueTree,
    pub fair_share: &'a QueueSlotGrid<Amount>,
    pub running: &'a [RunningWorkload],
    pub pending: &'a PendingGang,
    pub agents: Option<&'a [ReclaimAgent]>,
    pub options: &'a PlanOptions,
    pub now: Timestamp,
    /// The reclaimer's queue and its ancestors, upwards.
    pub path: Vec<usize>,
    /// By queue; `None` for the reclaimer's queue, its ancestors and its descendants.
    pub pairs: Vec<Option<ComparedQueues>>,
    index: Arc<RunningIndex>,
}

impl Deref for ReclaimSnapshot<'_> {
    type Target = RunningIndex;
    fn deref(&self) -> &RunningIndex {
        &self.index
    }
}

impl<'a> ReclaimSnapshot<'a> {
    pub fn new(input: &ReclaimInput<'a>) -> Result<Self, Vec<Fault>> {
        let tree = input.tree;
        let mut faults = pending_faults(tree, input.pending);
        let queues = resolve_queues(tree, input.running, &mut faults);
        let Some(queue) = tree.find(&input.pending.queue).filter(|_| faults.is_empty()) else {
            faults.truncate(MAX_FAULTS);
            return Err(faults);
        };
        let names = input.agents.map(|agents| agents.iter().enumerate().map(|(at, a)| (&*a.agent_id, at)).collect());
        let index = Arc::new(RunningIndex::new(tree, input.running, &queues, names.as_ref()));
        index.check_changes()?;
        Ok(Self::of(input, queue, index))
    }

    /// The snapshot for a pending workload of `queue`. The index is one of the same running workloads.
    pub fn of(input: &ReclaimInput<'a>, queue: usize, index: Arc<RunningIndex>) -> Self {
        let path: Vec<usize> = input.tree.ancestry(queue).collect();
        Self {
            tree: input.tree,
            fair_share: input.fair_share,
            running: input.running,
            pending: input.pending,
            agents: input.agents,
            options: input.options,
            now: input.now,
            pairs: pairs(input.tree, &path),
            path,
            index,
        }
    }

    /// The reclaimer's queue.
    pub fn queue(&self) -> usize {
        self.path[0]
    }

    pub fn width(&self) -> usize {
        self.tree.slots.len()
    }

    pub fn position<'b>(&'b self, queue: usize, allocated: &'b QueueSlotGrid<Amount>) -> QueueAllocation<'b> {
        QueueAllocation {
            tree: self.tree,
            queue,
            allocated: allocated.row(queue),
            fair_share: self.fair_share.row(queue),
        }
    }

    /// The amounts that members hold together, by column.
    pub fn held(&self, members: Range<usize>) -> Vec<Amount> {
        let mut held = vec![Amount::ZERO; self.width()];
        for (column, units) in members.flat_map(|member| self.cells(member)) {
            held[*column] = held[*column].saturating_add(Amount::from_units(*units));
        }
        held
    }

    /// The number of pending members for which victims are searched: the core of the gang.
    pub fn gang_size(&self) -> usize {
        let count = self.pending.members.len();
        self.pending.gang_min.map_or(count, |min| count.min(min as usize))
    }
}

impl RunningIndex {
    /// Resolves workloads whose queues are `queues`. Without the indices of agents by name only totals count.
    pub fn new(
        tree: &QueueTree,
        running: &[RunningWorkload],
        queues: &[usize],
        agents: Option<&FastMap<&str, usize>>,
    ) -> Self {
        let mut index = Self {
            jobs: Vec::with_capacity(running.len()),
            members: Vec::new(),
            cells: Vec::new(),
            job_starts: Vec::new(),
            jobs_by_queue: Vec::new(),
            depths: queue_depths(tree),
        };
        for (workload, queue) in running.iter().zip(queues) {
            let start = index.members.len();
            for (member, begins_kernel) in workload.members.iter().zip(begin_kernels(&workload.members)) {
                let find = |by_name: &FastMap<&str, usize>| by_name.get(member.agent_id.as_deref()?).copied();
                let agent = agents.map_or(0, |by_name| find(by_name).unwrap_or(NO_AGENT));
                let from = index.cells.len();
                index.cells.extend(cells_of(tree, &member.slots));
                index.members.push(SnapshotMember { agent, begins_kernel, cells: from..index.cells.len() });
            }
            let members = start..index.members.len();
            let kernels = index.count_kernels(members.clone());
            let core_kernels = workload.gang_min.map_or(kernels, |min| kernels.min(min.max(1) as usize));
            let first_surplus = index.kernels_in(members.clone()).nth(core_kernels);
            let core = first_surplus.map_or(members.end, |kernel| kernel.start) - start;
            index.jobs.push(SnapshotWorkload { queue: *queue, members, kernels, core_kernels, core });
        }
        index.index_jobs(tree.len());
        index
    }

    pub fn check_changes(&self) -> Result<(), Vec<Fault>> {
        let of = |job: &SnapshotWorkload| {
            let cells: usize = job.members.clone().map(|member| 1 + self.cells(member).len()).sum();
            cells.saturating_mul(self.depths[job.queue])
        };
        let changes = self.jobs.iter().map(of).fold(0, usize::saturating_add);
        if changes <= MAX_CHANGES {
            return Ok(());
        }
        let detail = format!(
            "`running` has {changes} slots of members x ancestors of their queues; at most {MAX_CHANGES} can be planned with"
        );
        Err(vec![Fault::new("/running", "too_many", detail)])
    }

    /// The cost of subtracting a unit from its queue and all ancestors.
    pub fn weight(&self, unit: &EvictionUnit) -> usize {
        unit.members.len().saturating_mul(self.depths[unit.queue])
    }

    fn index_jobs(&mut self, queues: usize) {
        let mut starts = vec![0; queues + 1];
        for job in &self.jobs {
            starts[job.queue + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let (mut next, mut order) = (starts.clone(), vec![0; self.jobs.len()]);
        for (at, job) in self.jobs.iter().enumerate() {
            order[next[job.queue]] = at;
            next[job.queue] += 1;
        }
        (self.job_starts, self.jobs_by_queue) = (starts, order);
    }

    /// The running workloads of a queue, without those of its descendants.
    pub fn jobs_of(&self, queue: usize) -> &[usize] {
        &self.jobs_by_queue[self.job_starts[queue]..self.job_starts[queue + 1]]
    }

    /// The members that are the parts of each kernel, of members that begin with the first part of one.
    pub fn kernels_in(&self, members: Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> + '_ {
        let end = members.end;
        let next = move |first: usize| (first + 1..end).find(|member| self.members[*member].begins_kernel);
        let firsts = members.filter(move |member| self.members[*member].begins_kernel);
        firsts.map(move |first| first..next(first).unwrap_or(end))
    }

    /// The number of kernels that the members are parts of.
    pub fn count_kernels(&self, members: Range<usize>) -> usize {
        self.members[members].iter().filter(|member| member.begins_kernel).count()
    }

    /// The amounts that a member holds, as (column, units of 10^-12).
    pub fn cells(&self, member: usize) -> &[(usize, u128)] {
        &self.cells[self.members[member].cells.clone()]
    }

    /// The amount of a slot that a unit holds, in units of 10^-12.
    pub fn size(&self, unit: &EvictionUnit, column: usize) -> u128 {
        let cells = unit.members.clone().flat_map(|member| self.cells(member));
        cells.filter(|(c, _)| *c == column).fold(0, |sum, (_, units)| sum.saturating_add(*units))
    }
}

/// Amounts as (column, units of 10^-12), without zeros and without slots that the tree does not contain.
pub fn cells_of(tree: &QueueTree, slots: &SlotAmounts) -> impl Iterator<Item = (usize, u128)> {
    slots
        .iter()
        .filter(|(_, amount)| !amount.is_zero())
        .filter_map(|(slot, amount)| Some((tree.column(slot)?, amount.units())))
}

fn pending_faults(tree: &QueueTree, pending: &PendingGang) -> Vec<Fault> {
    let mut faults = Vec::new();
    if tree.find(&pending.queue).is_none() {
        faults.push(unknown_queue("/pending", &pending.queue));
    }
    if pending.members.is_empty() {
        faults.push(Fault::new("/pending/members", "empty", "`members` must name at least one"));
    }
    if let Some(min) = pending.gang_min.filter(|min| *min == 0 || *min as usize > pending.members.len()) {
        let detail =
            format!("`gang_min` is {min}; it is 1 to {}, the members of the workload", pending.members.len().max(1));
        faults.push(Fault::new("/pending/gang_min", "out_of_range", detail));
    }
    for (at, member) in pending.members.iter().enumerate() {
        for (slot, amount) in member.slots.iter() {
            if !amount.is_zero() && tree.column(slot).is_none() {
                let detail = format!("`slots` names {slot}, which neither the capacity nor a queue names");
                faults.push(Fault::new(format!("/pending/members/{at}/slots"), "unknown_slot", detail));
            }
        }
    }
    faults
}

pub fn resolve_queues(tree: &QueueTree, running: &[RunningWorkload], faults: &mut Vec<Fault>) -> Vec<usize> {
    let find = |(at, workload): (usize, &RunningWorkload)| {
        tree.find(&workload.queue).or_else(|| {
            faults.push(unknown_queue(&format!("/running/{at}"), &workload.queue));
            None
        })
    };
    running.iter().enumerate().filter_map(find).collect()
}

fn queue_depths(tree: &QueueTree) -> Vec<usize> {
    let mut depths = vec![1; tree.len()];
    for queue in tree.top_down().iter().copied() {
        if let Some(parent) = tree.queues[queue].parent {
            depths[queue] = depths[parent] + 1;
        }
    }
    depths
}

fn pairs(tree: &QueueTree, path: &[usize]) -> Vec<Option<ComparedQueues>> {
    let mut step_of = vec![None; tree.len()];
    for (step, queue) in path.iter().enumerate() {
        step_of[*queue] = Some(step);
    }
    let mut pairs: Vec<Option<ComparedQueues>> = vec![None; tree.len()];
    for queue in tree.top_down().iter().copied().filter(|q| step_of[*q].is_none()) {
        let below = |step: usize| Some(ComparedQueues { ours: path[step], step, theirs: queue });
        pairs[queue] = match tree.queues[queue].parent {
            None => below(path.len() - 1),
            Some(parent) => match step_of[parent] {
                None => pairs[parent],
                Some(0) => None,
                Some(step) => below(step - 1),
            },
        };
    }
    pairs
}
