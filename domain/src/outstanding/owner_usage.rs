//! The kernels of one owner.

use super::block_list::BlockList;
use super::kernel_usage::KernelUsage;
use super::sum::{SumCache, UsageSum};
use super::{GroupCursor, RequestMoment};
use crate::ids::KernelKey;
use crate::run_times::ExpectedRuntime;
use crate::slots::{SlotAmounts, SlotUsages};
use crate::time::{Day, TimeSpan, Timestamp};

/// Kernels by key. Most owners have one, which takes much less memory than a map.
#[derive(Clone, Debug)]
enum KernelsByKey {
    One(KernelUsage),
    Many(BlockList),
}

impl KernelsByKey {
    fn iter(&self) -> impl Iterator<Item = &KernelUsage> {
        let (one, many) = match self {
            Self::One(kernel) => (Some(kernel), None),
            Self::Many(kernels) => (None, Some(kernels.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

/// The started kernels of one owner whose last slices are not recorded yet; at least one.
#[derive(Clone, Debug)]
pub struct OwnerUsage {
    kernels: KernelsByKey,
    /// The cached sum, valid for a start of the look-back window, a group's cursor and an expected runtime. Every
    /// change clears it.
    last: SumCache<(Timestamp, GroupCursor, ExpectedRuntime)>,
}

impl OwnerUsage {
    pub fn new(kernel: KernelUsage) -> Self {
        Self { kernels: KernelsByKey::One(kernel), last: SumCache::default() }
    }

    pub fn insert(&mut self, kernel: KernelUsage) {
        self.last = SumCache::default();
        match &mut self.kernels {
            KernelsByKey::One(known) if known.key == kernel.key => *known = kernel,
            KernelsByKey::One(known) => {
                let mut both = BlockList::default();
                both.insert(known.clone());
                both.insert(kernel);
                self.kernels = KernelsByKey::Many(both);
            }
            KernelsByKey::Many(kernels) => kernels.insert(kernel),
        }
    }

    /// Removes a kernel. Returns true if any are left.
    pub fn remove(&mut self, key: KernelKey) -> bool {
        self.last = SumCache::default();
        match &mut self.kernels {
            KernelsByKey::One(known) => known.key != key,
            KernelsByKey::Many(kernels) => {
                kernels.remove(key);
                !kernels.is_empty()
            }
        }
    }

    fn held(&self, now: Timestamp) -> SlotAmounts {
        let mut sum = SlotAmounts::default();
        self.kernels.iter().filter(|kernel| kernel.runs(now)).for_each(|kernel| sum.add(&kernel.slots));
        sum
    }

    /// The earliest start of a kernel that is not on the group's cursor.
    pub fn first_behind(&self) -> Option<Timestamp> {
        self.kernels.iter().filter(|kernel| !kernel.is_in_step()).map(|kernel| kernel.started_at).min()
    }

    /// Calls `take` with the sum of used and expected usage.
    pub fn with_sum<T>(
        &self,
        moment: RequestMoment,
        recorded: GroupCursor,
        expected: ExpectedRuntime,
        take: impl FnOnce(&UsageSum) -> T,
    ) -> T {
        let make = || UsageSum::of(self.kernels.iter(), moment, recorded, expected);
        self.last.with((moment.since, recorded, expected), moment.now, make, take)
    }
}

/// The kernels of one owner, with the cursor of their group.
#[derive(Clone, Copy, Debug)]
pub struct OwnersKernels<'a> {
    pub(super) owned: &'a OwnerUsage,
    pub(super) recorded: GroupCursor,
}

impl OwnersKernels<'_> {
    /// The slots that running kernels hold.
    pub fn held(self, now: Timestamp) -> SlotAmounts {
        self.owned.held(now)
    }

    /// The usage that no run has recorded.
    pub fn unrecorded(self, moment: RequestMoment) -> SlotUsages {
        let mut sum = SlotUsages::default();
        self.unrecorded_by_day(moment, |_, usage| sum.add(usage));
        sum
    }

    /// [`Self::unrecorded`] by days.
    pub fn unrecorded_by_day(self, moment: RequestMoment, mut take: impl FnMut(Day, &SlotUsages)) {
        for kernel in self.owned.kernels.iter() {
            for part in kernel.unrecorded(moment, self.recorded).into_iter().flat_map(TimeSpan::by_day) {
                take(part.start.day(), &kernel.slots.for_micros(kernel.active_micros(part)));
            }
        }
    }

    /// The expected usage from `now` on.
    pub fn committed(self, now: Timestamp, expected: ExpectedRuntime) -> SlotUsages {
        let mut sum = SlotUsages::default();
        for kernel in self.owned.kernels.iter() {
            sum.add(&kernel.slots.for_micros(kernel.committed(now, &expected)));
        }
        sum
    }

    /// The usage since the last records, and the expected usage.
    pub fn usage(self, moment: RequestMoment, expected: ExpectedRuntime) -> SlotUsages {
        self.owned.with_sum(moment, self.recorded, expected, |sum| sum.at(moment.now))
    }
}
