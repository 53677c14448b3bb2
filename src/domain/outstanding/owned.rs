//! The kernels of one owner, and what they come to, which is calculated again only when a kernel takes another course.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Moment;
use super::holding::Holding;
use crate::domain::ids::KernelKey;
use crate::domain::run_times::Expected;
use crate::domain::slots::{Amounts, Usages};
use crate::domain::time::{Day, Span, Timestamp};

#[derive(Debug, Default)]
pub struct Owned {
    kernels: BTreeMap<KernelKey, Arc<Holding>>,
    /// Made when it is first asked for, and left behind by every change.
    sum: Mutex<Option<Box<Sum>>>,
}

/// What the kernels have used and will still use: `usage` at `from`, and `growing` for all the time since, until `until`.
#[derive(Debug)]
struct Sum {
    since: Timestamp,
    expected: Expected,
    from: Timestamp,
    until: Timestamp,
    usage: Usages,
    growing: Amounts,
}

impl Clone for Owned {
    fn clone(&self) -> Self {
        Self { kernels: self.kernels.clone(), sum: Mutex::default() }
    }
}

impl Sum {
    fn of<'a>(kernels: impl Iterator<Item = &'a Holding>, moment: Moment, expected: Expected) -> Self {
        let Moment { since, now } = moment;
        let (usage, growing) = Default::default();
        let mut sum = Self { since, expected, from: now, until: Timestamp::MAX, usage, growing };
        for kernel in kernels {
            let course = kernel.course(moment, &expected);
            sum.usage.add(&kernel.slots.for_micros(course.micros));
            sum.until = sum.until.min(course.until);
            if course.grows {
                sum.growing.add(&kernel.slots);
            }
        }
        sum
    }

    fn holds(&self, moment: Moment, expected: Expected) -> bool {
        let Moment { since, now } = moment;
        self.since == since && self.expected == expected && self.from <= now && now < self.until
    }

    fn at(&self, now: Timestamp) -> Usages {
        let mut usage = self.usage.clone();
        let passed = now.micros().saturating_sub(self.from.micros());
        usage.add(&self.growing.for_micros(u64::try_from(passed).unwrap_or(0)));
        usage
    }
}

impl Owned {
    pub fn insert(&mut self, key: KernelKey, kernel: Holding) {
        self.kernels.insert(key, Arc::new(kernel));
        self.sum = Mutex::default();
    }

    /// Whether any are left.
    pub fn remove(&mut self, key: KernelKey) -> bool {
        self.kernels.remove(&key);
        self.sum = Mutex::default();
        !self.kernels.is_empty()
    }

    /// What those occupy that run at the moment.
    pub fn held(&self, now: Timestamp) -> Amounts {
        let mut sum = Amounts::default();
        self.kernels.values().filter(|kernel| kernel.runs(now)).for_each(|kernel| sum.add(&kernel.slots));
        sum
    }

    /// What no run has recorded, by the days in which it lies.
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

    pub fn usage(&self, moment: Moment, expected: Expected) -> Usages {
        let mut known = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = known.as_ref().filter(|sum| sum.holds(moment, expected)) {
            return sum.at(moment.now);
        }
        let sum = Sum::of(self.kernels.values().map(|kernel| &**kernel), moment, expected);
        known.insert(Box::new(sum)).usage.clone()
    }
}
