//! The kernels of one owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Moment;
use super::holding::Holding;
use super::sum::{Last, Sum};
use crate::domain::ids::KernelKey;
use crate::domain::run_times::Expected;
use crate::domain::slots::{Amounts, Usages};
use crate::domain::time::{Day, Span, Timestamp};

/// Started kernels whose last slices are not recorded yet.
#[derive(Clone, Debug, Default)]
pub struct Owned {
    kernels: BTreeMap<KernelKey, Arc<Holding>>,
    /// By the start of the look-back window. Every change leaves it behind.
    last: Last<(Timestamp, Expected)>,
}

impl Owned {
    pub fn insert(&mut self, key: KernelKey, kernel: Holding) {
        self.kernels.insert(key, Arc::new(kernel));
        self.last = Last::default();
    }

    /// Whether any are left.
    pub fn remove(&mut self, key: KernelKey) -> bool {
        self.kernels.remove(&key);
        self.last = Last::default();
        !self.kernels.is_empty()
    }

    /// What those occupy that run at the moment.
    pub fn held(&self, now: Timestamp) -> Amounts {
        let mut sum = Amounts::default();
        self.kernels.values().filter(|kernel| kernel.runs(now)).for_each(|kernel| sum.add(&kernel.slots));
        sum
    }

    /// What no run has recorded.
    pub fn unrecorded(&self, moment: Moment) -> Usages {
        let mut sum = Usages::default();
        self.unrecorded_by_day(moment, |_, usage| sum.add(usage));
        sum
    }

    /// [`Self::unrecorded`] by the days in which it lies.
    pub fn unrecorded_by_day(&self, moment: Moment, mut take: impl FnMut(Day, &Usages)) {
        for kernel in self.kernels.values() {
            for part in kernel.unrecorded(moment).into_iter().flat_map(Span::by_day) {
                take(part.start.day(), &kernel.slots.for_micros(kernel.active_micros(part)));
            }
        }
    }

    /// What they will still use.
    pub fn committed(&self, now: Timestamp, expected: Expected) -> Usages {
        let mut sum = Usages::default();
        for kernel in self.kernels.values() {
            sum.add(&kernel.slots.for_micros(kernel.committed(now, &expected)));
        }
        sum
    }

    /// Hands over what they have used and will still use.
    pub fn with_sum<T>(&self, moment: Moment, expected: Expected, take: impl FnOnce(&Sum) -> T) -> T {
        let make = || Sum::of(self.kernels.values().map(|kernel| &**kernel), moment, expected);
        self.last.with((moment.since, expected), moment.now, make, take)
    }
}
