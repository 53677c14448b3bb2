//! The usage of several kernels as a function of time, which is computed again only when the charge of one of them
//! changes its course.

use std::sync::{Mutex, PoisonError};

use super::kernel_usage::KernelUsage;
use super::{GroupCursor, RequestMoment};
use crate::run_times::ExpectedRuntime;
use crate::slots::{SlotAmounts, SlotUsages};
use crate::time::Timestamp;

/// The used and expected usage of kernels: `usage` at the moment `from`, plus `growing` for the time since. Valid until
/// `until`.
#[derive(Debug)]
pub struct UsageSum {
    from: Timestamp,
    until: Timestamp,
    usage: SlotUsages,
    growing: SlotAmounts,
}

impl UsageSum {
    /// The sum over no kernels.
    pub fn none(now: Timestamp) -> Self {
        Self { from: now, until: Timestamp::MAX, usage: SlotUsages::default(), growing: SlotAmounts::default() }
    }

    pub fn of<'a>(
        kernels: impl Iterator<Item = &'a KernelUsage>,
        moment: RequestMoment,
        recorded: GroupCursor,
        expected: ExpectedRuntime,
    ) -> Self {
        let mut sum = Self::none(moment.now);
        for kernel in kernels {
            let course = kernel.charge_projection(moment, recorded, &expected);
            sum.usage.add(&kernel.slots.for_micros(course.micros));
            sum.until = sum.until.min(course.until);
            if course.grows {
                sum.growing.add(&kernel.slots);
            }
        }
        sum
    }

    /// Adds the sum over other kernels, at the moment of this sum.
    pub fn add(&mut self, other: &Self) {
        other.add_to(&mut self.usage, self.from);
        self.growing.add(&other.growing);
        self.until = self.until.min(other.until);
    }

    fn add_to(&self, usage: &mut SlotUsages, now: Timestamp) {
        usage.add(&self.usage);
        let passed = now.micros().saturating_sub(self.from.micros());
        if passed > 0 {
            usage.add(&self.growing.for_micros(passed.unsigned_abs()));
        }
    }

    fn holds(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    pub fn at(&self, now: Timestamp) -> SlotUsages {
        let mut usage = SlotUsages::default();
        self.add_to(&mut usage, now);
        usage
    }
}

/// The last computed sum, with the inputs that it depends on besides kernels and time. A copy starts empty.
#[derive(Debug)]
pub struct SumCache<B>(Mutex<Option<Box<(B, UsageSum)>>>);

impl<B> Default for SumCache<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B> Clone for SumCache<B> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<B: PartialEq> SumCache<B> {
    /// Calls `take` with the last sum if it is valid, otherwise with the result of `make`.
    pub fn with<T>(
        &self,
        basis: B,
        now: Timestamp,
        make: impl FnOnce() -> UsageSum,
        take: impl FnOnce(&UsageSum) -> T,
    ) -> T {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.0 == basis && known.1.holds(now)) {
            return take(&known.1);
        }
        take(&last.insert(Box::new((basis, make()))).1)
    }
}
