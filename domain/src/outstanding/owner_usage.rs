//! The kernels of one owner.

use super::block_list::BlockList;
use super::kernel_usage::KernelUsage;
use super::sum::{Last, Sum};
use super::{Moment, Recorded};
use crate::ids::KernelKey;
use crate::run_times::Expected;
use crate::slots::{Amounts, Usages};
use crate::time::{Day, Span, Timestamp};

/// Kernels by key. Most owners have one, which takes much less memory than a map.
#[derive(Clone, Debug)]
enum Kernels {
    One(KernelUsage),
    Many(BlockList),
}

impl Kernels {
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
    kernels: Kernels,
    /// The cached sum, valid for a start of the look-back window, a group's cursor and an expected runtime. Every
    /// change clears it.
    last: Last<(Timestamp, Recorded, Expected)>,
}

impl OwnerUsage {
    pub fn new(kernel: KernelUsage) -> Self {
        Self { kernels: Kernels::One(kernel), last: Last::default() }
    }

    pub fn insert(&mut self, kernel: KernelUsage) {
        self.last = Last::default();
        match &mut self.kernels {
            Kernels::One(known) if known.key == kernel.key => *known = kernel,
            Kernels::One(known) => {
                let mut both = BlockList::default();
                both.insert(known.clone());
                both.insert(kernel);
                self.kernels = Kernels::Many(both);
            }
            Kernels::Many(kernels) => kernels.insert(kernel),
        }
    }

    /// Removes a kernel. Returns true if any are left.
    pub fn remove(&mut self, key: KernelKey) -> bool {
        self.last = Last::default();
        match &mut self.kernels {
            Kernels::One(known) => known.key != key,
            Kernels::Many(kernels) => {
                kernels.remove(key);
                !kernels.is_empty()
            }
        }
    }

    fn held(&self, now: Timestamp) -> Amounts {
        let mut sum = Amounts::default();
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
        moment: Moment,
        recorded: Recorded,
        expected: Expected,
        take: impl FnOnce(&Sum) -> T,
    ) -> T {
        let make = || Sum::of(self.kernels.iter(), moment, recorded, expected);
        self.last.with((moment.since, recorded, expected), moment.now, make, take)
    }
}

/// The kernels of one owner, with the cursor of their group.
#[derive(Clone, Copy, Debug)]
pub struct OwnersKernels<'a> {
    pub(super) owned: &'a OwnerUsage,
    pub(super) recorded: Recorded,
}

impl OwnersKernels<'_> {
    /// The slots that running kernels hold.
    pub fn held(self, now: Timestamp) -> Amounts {
        self.owned.held(now)
    }

    /// The usage that no run has recorded.
    pub fn unrecorded(self, moment: Moment) -> Usages {
        let mut sum = Usages::default();
        self.unrecorded_by_day(moment, |_, usage| sum.add(usage));
        sum
    }

    /// [`Self::unrecorded`] by days.
    pub fn unrecorded_by_day(self, moment: Moment, mut take: impl FnMut(Day, &Usages)) {
        for kernel in self.owned.kernels.iter() {
            for part in kernel.unrecorded(moment, self.recorded).into_iter().flat_map(Span::by_day) {
                take(part.start.day(), &kernel.slots.for_micros(kernel.active_micros(part)));
            }
        }
    }

    /// The expected usage from `now` on.
    pub fn committed(self, now: Timestamp, expected: Expected) -> Usages {
        let mut sum = Usages::default();
        for kernel in self.owned.kernels.iter() {
            sum.add(&kernel.slots.for_micros(kernel.committed(now, &expected)));
        }
        sum
    }

    /// The usage since the last records, and the expected usage.
    pub fn usage(self, moment: Moment, expected: Expected) -> Usages {
        self.owned.with_sum(moment, self.recorded, expected, |sum| sum.at(moment.now))
    }
}
