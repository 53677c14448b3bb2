//! Usage buckets (FAIR_SHARE §5). Each entity of each tier has a chain of them.

use std::sync::Arc;

use super::slots::{Amounts, Usages};
use super::time::Day;

/// Usage of one entity over at most `unit_days` days.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The day of the first slice.
    pub start: Day,
    /// The last day with usage, inclusive.
    pub end: Day,
    /// `decay_unit_days` when the bucket opened.
    pub unit_days: u32,
    pub usage: Usages,
    /// How many usage records the bucket sums; one that loses them all disappears.
    pub records: u64,
    /// The group's capacity on `end`, shared by all entities of the group.
    pub capacity: Arc<Amounts>,
}

impl Bucket {
    pub(super) fn open(day: Day, unit_days: u32, added: &Daily) -> Self {
        Self {
            start: day,
            end: day,
            unit_days,
            usage: added.usage.filtered(|u| !u.is_zero()),
            records: added.records,
            capacity: Arc::default(),
        }
    }

    /// Whether a slice of `day` belongs here.
    pub fn takes(&self, day: Day) -> bool {
        day >= self.start && day < self.closes()
    }

    /// The first day that the bucket can no longer take.
    pub fn closes(&self) -> Day {
        self.start.plus(self.unit_days.cast_signed())
    }
}

/// What one day adds to an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Daily {
    pub usage: Usages,
    pub records: u64,
}

impl Daily {
    pub fn add(&mut self, usage: &Usages) {
        self.add_records(usage, 1);
    }

    pub fn is_nothing(&self) -> bool {
        self.records == 0
    }

    /// Takes back what was added before.
    pub fn take_back(&mut self, removed: &Self) {
        self.usage.subtract(&removed.usage);
        self.records = self.records.saturating_sub(removed.records);
    }

    /// What so many records sum to.
    pub fn add_records(&mut self, usage: &Usages, records: u64) {
        self.usage.add(usage);
        self.records += records;
    }
}

/// A day cannot be placed without moving later buckets: the chain has to be folded again from its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsRebuild;
