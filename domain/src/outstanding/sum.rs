//! The usage of several kernels as a function of time, which is computed again only when the charge of one of them
//! changes its course.

use std::sync::{Mutex, PoisonError};

use super::kernel_usage::KernelUsage;
use super::{Moment, Recorded};
use crate::run_times::Expected;
use crate::slots::{Amounts, Usages};
use crate::time::Timestamp;

/// The used and expected usage of kernels: `usage` at the moment `from`, plus `growing` for the time since. Valid until
/// `until`.
#[derive(Debug)]
pub struct Sum {
    from: Timestamp,
    until: Timestamp,
    usage: Usages,
    growing: Amounts,
}

impl Sum {
    /// The sum over no kernels.
    pub fn none(now: Timestamp) -> Self {
        Self { from: now, until: Timestamp::MAX, usage: Usages::default(), growing: Amounts::default() }
    }

    pub fn of<'a>(
        kernels: impl Iterator<Item = &'a KernelUsage>,
        moment: Moment,
        recorded: Recorded,
        expected: Expected,
    ) -> Self {
        let mut sum = Self::none(moment.now);
        for kernel in kernels {
            let course = kernel.course(moment, recorded, &expected);
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

    fn add_to(&self, usage: &mut Usages, now: Timestamp) {
        usage.add(&self.usage);
        let passed = now.micros().saturating_sub(self.from.micros());
        if passed > 0 {
            usage.add(&self.growing.for_micros(passed.unsigned_abs()));
        }
    }

    fn holds(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    pub fn at(&self, now: Timestamp) -> Usages {
        let mut usage = Usages::default();
        self.add_to(&mut usage, now);
        usage
    }
}

/// The last computed sum, with the inputs that it depends on besides kernels and time. A copy starts empty.
#[derive(Debug)]
pub struct Last<B>(Mutex<Option<Box<(B, Sum)>>>);

impl<B> Default for Last<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B> Clone for Last<B> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<B: PartialEq> Last<B> {
    /// Calls `take` with the last sum if it is valid, otherwise with the result of `make`.
    pub fn with<T>(&self, basis: B, now: Timestamp, make: impl FnOnce() -> Sum, take: impl FnOnce(&Sum) -> T) -> T {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.0 == basis && known.1.holds(now)) {
            return take(&known.1);
        }
        take(&last.insert(Box::new((basis, make()))).1)
    }
}
