//! Usage buckets (FAIR_SHARE §5). Each owner of each tier has a series of them.

use std::sync::Arc;

use super::slots::{SlotAmounts, SlotUsages};
use super::time::Day;

/// The usage of one owner over at most `unit_days` days.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The day of the first slice.
    pub start: Day,
    /// The last day with usage, inclusive.
    pub end: Day,
    /// The `decay_unit_days` at the time when the bucket opened.
    pub unit_days: u32,
    pub usage: SlotUsages,
    /// The number of usage records in the bucket. A bucket that loses all of them is removed.
    pub records: u64,
    /// The capacity of the group on `end`. All owners of the group share it.
    pub capacity: Arc<SlotAmounts>,
}

impl Bucket {
    pub(super) fn open(day: Day, unit_days: u32, added: &DayUsage) -> Self {
        Self {
            start: day,
            end: day,
            unit_days,
            usage: added.usage.filtered(|u| !u.is_zero()),
            records: added.records,
            capacity: Arc::default(),
        }
    }

    /// True if a slice of `day` belongs to the bucket.
    pub fn takes(&self, day: Day) -> bool {
        day >= self.start && day < self.closes()
    }

    /// The first day after the days that the bucket can take.
    pub fn closes(&self) -> Day {
        self.start.plus(self.unit_days.cast_signed())
    }
}

/// The usage of an owner on one day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DayUsage {
    pub usage: SlotUsages,
    pub records: u64,
}

impl DayUsage {
    pub fn add(&mut self, usage: &SlotUsages) {
        self.add_records(usage, 1);
    }

    pub fn is_nothing(&self) -> bool {
        self.records == 0
    }

    /// Subtracts usage that was added before.
    pub fn take_back(&mut self, removed: &Self) {
        self.usage.subtract(&removed.usage);
        self.records = self.records.saturating_sub(removed.records);
    }

    /// Adds the sum of several records.
    pub fn add_records(&mut self, usage: &SlotUsages, records: u64) {
        self.usage.add(usage);
        self.records += records;
    }
}

/// The error of usage on a day that fits into no bucket without moving later ones. The series has to be folded again
/// from its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsRebuild;
