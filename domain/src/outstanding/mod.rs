//! The usage of kernels since their last records, and the expected usage of running kernels (FAIR_SHARE §10). It is
//! computed from the kernels at the moment of a request. Nothing of it is stored, so no stored value can become
//! outdated.

mod block_list;
mod kernel_usage;
mod owner_usage;
mod project_kernels;
mod sum;

use std::sync::Arc;

pub use owner_usage::OwnersKernels;

use kernel_usage::KernelUsage;
use owner_usage::OwnerUsage;
use project_kernels::ProjectKernels;
use sum::UsageSum;

use super::ids::{KernelId, KernelKey, Member, ProjectId};
use super::kernel::{Kernel, OpenKernel};
use super::maps::{SharedMap, get_or_default};
use super::run_times::{CacheGeneration, ExpectedRuntime};
use super::slots::{SlotAmounts, SlotUsages};
use super::time::{Day, MICROS_PER_HOUR, Timestamp};

/// The moment of a request, and the start of the look-back window, from which usage counts.
#[derive(Clone, Copy, Debug)]
pub struct RequestMoment {
    pub since: Timestamp,
    pub now: Timestamp,
}

/// The group's cursor: the end of the recorded usage of kernels that have no cursor of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct GroupCursor {
    until: Option<Timestamp>,
}

/// How long an ended kernel stays in memory, in microseconds.
pub const ENDED_KERNEL_MICROS: i64 = MICROS_PER_HOUR;

/// The started kernels of a group whose last slice is not recorded yet, by owner.
#[derive(Clone, Debug, Default)]
pub struct OutstandingKernels {
    by_owner: SharedMap<Member, Arc<OwnerUsage>>,
    rosters: SharedMap<ProjectId, Arc<ProjectKernels>>,
    /// The kernels of all owners.
    known: SharedMap<KernelId, ()>,
    /// Kernels that have ended and are fully recorded, with their ends.
    ended: SharedMap<KernelId, Timestamp>,
    recorded: GroupCursor,
}

impl OutstandingKernels {
    /// An empty one for a group whose usage is recorded up to `until`.
    pub fn recorded(until: Option<Timestamp>) -> Self {
        Self { recorded: GroupCursor { until }, ..Self::default() }
    }

    /// Notes that a run has recorded the group up to `until`.
    pub fn set_recorded(&mut self, until: Timestamp) {
        self.recorded = GroupCursor { until: Some(until) };
    }

    pub fn put(&mut self, kernel: &OpenKernel) {
        self.known.insert_mut(kernel.id, ());
        let owner = kernel.owner;
        let is_new = if let Some(owned) = self.by_owner.get_mut(&owner) {
            Arc::make_mut(owned).insert(KernelUsage::of(kernel));
            false
        } else {
            self.by_owner.insert_mut(owner, Arc::new(OwnerUsage::new(KernelUsage::of(kernel))));
            true
        };
        let roster = Arc::make_mut(get_or_default(&mut self.rosters, &owner.project));
        roster.changed();
        if is_new {
            roster.add(owner.user);
        }
    }

    pub fn remove(&mut self, key: KernelKey, id: KernelId, owner: Member) {
        if !self.known.remove_mut(&id) {
            return;
        }
        let Some(owned) = self.by_owner.get_mut(&owner) else { return };
        let are_left = Arc::make_mut(owned).remove(key);
        let Some(roster) = self.rosters.get_mut(&owner.project).map(Arc::make_mut) else { return };
        roster.changed();
        if are_left {
            return;
        }
        self.by_owner.remove_mut(&owner);
        if !roster.remove(owner.user) {
            self.rosters.remove_mut(&owner.project);
        }
    }

    /// Notes a kernel after a report; `unsettled` is `Some` if it still has usage to be recorded.
    pub fn changed(&mut self, kernel: &Kernel, unsettled: Option<&OpenKernel>) {
        let Some(key) = kernel.key else { return };
        let (id, owner) = (kernel.report.id, kernel.report.owner);
        match unsettled {
            Some(unsettled) => self.put(unsettled),
            None => self.remove(key, id, owner),
        }
        if let Some(end) = kernel.report.terminated_at.filter(|_| kernel.settled) {
            self.settled(id, end);
        }
    }

    /// Removes a kernel that belongs to another group.
    pub fn forget(&mut self, kernel: &Kernel) {
        self.changed(kernel, None);
        self.ended.remove_mut(&kernel.report.id);
    }

    /// Notes that a kernel has ended and is fully recorded.
    pub fn settled(&mut self, id: KernelId, end: Timestamp) {
        self.ended.insert_mut(id, end);
    }

    /// Adds the ended kernels of `before`, except those that ended longer than [`ENDED_KERNEL_MICROS`] ago.
    pub fn remember(&mut self, before: &Self, now: Timestamp) {
        for (id, end) in before.ended.iter() {
            self.ended.insert_mut(*id, *end);
        }
        self.forget_ended(now);
    }

    /// Removes kernels that ended longer than [`ENDED_KERNEL_MICROS`] ago.
    pub fn forget_ended(&mut self, now: Timestamp) {
        let first = now.plus_micros(-ENDED_KERNEL_MICROS);
        if self.ended.iter().any(|(_, end)| *end < first) {
            let recent = self.ended.iter().filter(|(_, end)| **end >= first);
            self.ended = recent.map(|(id, end)| (*id, *end)).collect();
        }
    }

    /// True if the kernel has started and runs, or if it ended within the last hour.
    pub fn knows(&self, id: KernelId) -> bool {
        self.known.contains_key(&id) || self.ended.contains_key(&id)
    }

    /// The number of started kernels.
    pub fn count(&self) -> usize {
        self.known.size()
    }

    /// The earliest start of a kernel that is not on the group's cursor; a run may have to record it from its start.
    pub fn first_behind(&self) -> Option<Timestamp> {
        self.by_owner.iter().filter_map(|(_, owned)| owned.first_behind()).min()
    }

    /// True if the owner has kernels here.
    pub fn holds(&self, owner: Member) -> bool {
        self.by_owner.contains_key(&owner)
    }

    /// The slots that the owner's running kernels hold.
    pub fn held(&self, owner: Member, now: Timestamp) -> SlotAmounts {
        self.of(owner).map(|kernels| kernels.held(now)).unwrap_or_default()
    }

    /// The owner's kernels; `None` if there are none.
    pub fn of(&self, owner: Member) -> Option<OwnersKernels<'_>> {
        self.by_owner.get(&owner).map(|owned| OwnersKernels { owned, recorded: self.recorded })
    }

    /// The usage of the owner's kernels since their last records.
    pub fn unrecorded(&self, owner: Member, moment: RequestMoment) -> SlotUsages {
        self.of(owner).map(|kernels| kernels.unrecorded(moment)).unwrap_or_default()
    }

    /// The usage of the owner's kernels since their last records, and their expected usage.
    pub fn usage(&self, owner: Member, moment: RequestMoment, expected: ExpectedRuntime) -> SlotUsages {
        self.of(owner).map(|kernels| kernels.usage(moment, expected)).unwrap_or_default()
    }

    /// [`Self::usage`] summed by project, in no order. `edition` identifies the values that `expected` returns.
    pub fn usages(
        &self,
        moment: RequestMoment,
        cache_generation: &CacheGeneration,
        expected: impl Fn(Member) -> ExpectedRuntime,
    ) -> impl Iterator<Item = (ProjectId, SlotUsages)> {
        self.rosters.iter().map(move |(project, roster)| {
            let make = || {
                let mut sum = UsageSum::none(moment.now);
                for owner in roster.users().map(|user| Member { user, project: *project }) {
                    let Some(owned) = self.by_owner.get(&owner) else { continue };
                    owned.with_sum(moment, self.recorded, expected(owner), |owned| sum.add(owned));
                }
                sum
            };
            (*project, roster.usage(moment, self.recorded, cache_generation, make))
        })
    }

    /// [`Self::unrecorded`] by days.
    pub fn unrecorded_by_day(&self, owner: Member, moment: RequestMoment, take: impl FnMut(Day, &SlotUsages)) {
        if let Some(kernels) = self.of(owner) {
            kernels.unrecorded_by_day(moment, take);
        }
    }

    /// The expected usage of the owner's kernels from `now` on.
    pub fn committed(&self, owner: Member, now: Timestamp, expected: ExpectedRuntime) -> SlotUsages {
        self.of(owner).map(|kernels| kernels.committed(now, expected)).unwrap_or_default()
    }

    /// The owners with kernels here, in no order.
    pub fn owners(&self) -> impl Iterator<Item = Member> + '_ {
        self.by_owner.iter().map(|(owner, _)| *owner)
    }
}
