//! What kernels have used since their records end, and what those that run will still use (FAIR_SHARE §10). It follows from the
//! kernels at the moment when a caller asks, so nothing is stored that could be left behind.

mod holding;
mod kept;
mod owned;
mod roster;
mod sum;

use std::sync::Arc;

pub use owned::OwnersKernels;

use holding::Holding;
use owned::Owned;
use roster::Roster;
use sum::Sum;

use super::ids::{KernelId, KernelKey, Member, ProjectId};
use super::kernel::{Kernel, Unsettled};
use super::maps::SharedMap;
use super::run_times::{Edition, Expected};
use super::slots::{Amounts, Usages};
use super::time::{Day, MICROS_PER_HOUR, Timestamp};

/// When something is asked, and from when on usage counts at all.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub since: Timestamp,
    pub now: Timestamp,
}

/// How far kernels are recorded that are in step with their group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Recorded {
    until: Option<Timestamp>,
}

/// For so long kernels that have ended are remembered, in microseconds.
pub const MEMORY: i64 = MICROS_PER_HOUR;

/// The started kernels of a group whose last slice is not recorded yet, by owner.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    by_owner: SharedMap<Member, Arc<Owned>>,
    rosters: SharedMap<ProjectId, Arc<Roster>>,
    /// All of them, of every owner.
    known: SharedMap<KernelId, ()>,
    /// Those that have ended and are recorded, with their ends.
    ended: SharedMap<KernelId, Timestamp>,
    recorded: Recorded,
}

impl Outstanding {
    /// Of a group that is recorded until then.
    pub fn recorded(until: Option<Timestamp>) -> Self {
        Self { recorded: Recorded { until }, ..Self::default() }
    }

    /// A run has recorded the group so far.
    pub fn set_recorded(&mut self, until: Timestamp) {
        self.recorded = Recorded { until: Some(until) };
    }

    pub fn put(&mut self, kernel: &Unsettled) {
        self.known.insert_mut(kernel.id, ());
        let owner = kernel.owner;
        let is_new = if let Some(owned) = self.by_owner.get_mut(&owner) {
            Arc::make_mut(owned).insert(Holding::of(kernel));
            false
        } else {
            self.by_owner.insert_mut(owner, Arc::new(Owned::new(Holding::of(kernel))));
            true
        };
        if !self.rosters.contains_key(&owner.project) {
            self.rosters.insert_mut(owner.project, Arc::default());
        }
        let Some(roster) = self.rosters.get_mut(&owner.project).map(Arc::make_mut) else { return };
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

    /// Notes what a report made of a kernel, which is `unsettled` now or not.
    pub fn changed(&mut self, kernel: &Kernel, unsettled: Option<&Unsettled>) {
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

    /// Forgets a kernel that is another group's.
    pub fn forget(&mut self, kernel: &Kernel) {
        self.changed(kernel, None);
        self.ended.remove_mut(&kernel.report.id);
    }

    /// Notes that a kernel has ended, and that all of it is recorded.
    pub fn settled(&mut self, id: KernelId, end: Timestamp) {
        self.ended.insert_mut(id, end);
    }

    /// Remembers kernels that had ended in `before`, unless that is long ago.
    pub fn remember(&mut self, before: &Self, now: Timestamp) {
        for (id, end) in before.ended.iter() {
            self.ended.insert_mut(*id, *end);
        }
        self.forget_ended(now);
    }

    /// Forgets kernels that ended long ago.
    pub fn forget_ended(&mut self, now: Timestamp) {
        let first = now.plus_micros(-MEMORY);
        if self.ended.iter().any(|(_, end)| *end < first) {
            let recent = self.ended.iter().filter(|(_, end)| **end >= first);
            self.ended = recent.map(|(id, end)| (*id, *end)).collect();
        }
    }

    /// Whether the kernel has started and runs, or has ended within the last hour.
    pub fn knows(&self, id: KernelId) -> bool {
        self.known.contains_key(&id) || self.ended.contains_key(&id)
    }

    /// How many kernels there are that have started.
    pub fn count(&self) -> usize {
        self.known.size()
    }

    /// When the first kernel started that runs may have to record from its start: one that is not recorded as far as its group.
    pub fn first_behind(&self) -> Option<Timestamp> {
        self.by_owner.iter().filter_map(|(_, owned)| owned.first_behind()).min()
    }

    /// Whether the owner has such kernels.
    pub fn holds(&self, owner: Member) -> bool {
        self.by_owner.contains_key(&owner)
    }

    /// What the owner's kernels that run now occupy.
    pub fn held(&self, owner: Member, now: Timestamp) -> Amounts {
        self.of(owner).map(|kernels| kernels.held(now)).unwrap_or_default()
    }

    /// The owner's kernels, if there are any.
    pub fn of(&self, owner: Member) -> Option<OwnersKernels<'_>> {
        self.by_owner.get(&owner).map(|owned| OwnersKernels { owned, recorded: self.recorded })
    }

    /// What the owner's kernels have used since their records end.
    pub fn unrecorded(&self, owner: Member, moment: Moment) -> Usages {
        self.of(owner).map(|kernels| kernels.unrecorded(moment)).unwrap_or_default()
    }

    /// What the owner's kernels have used since their records end, and will still use.
    pub fn usage(&self, owner: Member, moment: Moment, expected: Expected) -> Usages {
        self.of(owner).map(|kernels| kernels.usage(moment, expected)).unwrap_or_default()
    }

    /// [`Self::usage`] of all owners in a project, by project and in no order. `edition` is that of what `expected` tells.
    pub fn usages(
        &self,
        moment: Moment,
        edition: &Edition,
        expected: impl Fn(Member) -> Expected,
    ) -> impl Iterator<Item = (ProjectId, Usages)> {
        self.rosters.iter().map(move |(project, roster)| {
            let make = || {
                let mut sum = Sum::none(moment.now);
                for owner in roster.users().map(|user| Member { user, project: *project }) {
                    let Some(owned) = self.by_owner.get(&owner) else { continue };
                    owned.with_sum(moment, self.recorded, expected(owner), |owned| sum.add(owned));
                }
                sum
            };
            (*project, roster.usage(moment, self.recorded, edition, make))
        })
    }

    /// [`Self::unrecorded`] by the days in which it lies.
    pub fn unrecorded_by_day(&self, owner: Member, moment: Moment, take: impl FnMut(Day, &Usages)) {
        if let Some(kernels) = self.of(owner) {
            kernels.unrecorded_by_day(moment, take);
        }
    }

    /// What the owner's kernels will still use.
    pub fn committed(&self, owner: Member, now: Timestamp, expected: Expected) -> Usages {
        self.of(owner).map(|kernels| kernels.committed(now, expected)).unwrap_or_default()
    }

    /// Who has such kernels, in no order.
    pub fn owners(&self) -> impl Iterator<Item = Member> + '_ {
        self.by_owner.iter().map(|(owner, _)| *owner)
    }
}
