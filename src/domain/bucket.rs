//! Usage buckets (FAIR_SHARE §5): one chain of buckets for each entity of each tier.

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
    fn open(day: Day, unit_days: u32, added: &Daily) -> Self {
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
        day >= self.start && day.days_since(self.start).unsigned_abs() < self.unit_days
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
        self.usage.add(usage);
        self.records += 1;
    }
}

/// A day cannot be placed without moving later buckets: the chain has to be folded again from its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsRebuild;

/// The buckets of one entity, ascending, disjoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain(Vec<Bucket>);

impl Chain {
    pub fn buckets(&self) -> &[Bucket] {
        &self.0
    }

    pub fn buckets_mut(&mut self) -> &mut [Bucket] {
        &mut self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bucket(&self, start: Day) -> Option<&Bucket> {
        self.0.binary_search_by_key(&start, |b| b.start).ok().map(|at| &self.0[at])
    }

    pub fn bucket_mut(&mut self, start: Day) -> Option<&mut Bucket> {
        self.0.binary_search_by_key(&start, |b| b.start).ok().map(|at| &mut self.0[at])
    }

    /// Puts a stored bucket in its place.
    pub fn place(&mut self, bucket: Bucket) {
        let at = self.0.partition_point(|b| b.start < bucket.start);
        self.0.insert(at, bucket);
    }

    /// Drops what starts before `day`; gives memory back, never touches storage.
    pub fn forget_before(&mut self, day: Day) {
        if self.0.first().is_some_and(|b| b.start < day) {
            self.0.retain(|b| b.start >= day);
        }
    }

    /// Removes and returns every bucket that could be affected by a day at or after `day`.
    pub fn split_off(&mut self, day: Day) -> Vec<Bucket> {
        let at = self.0.partition_point(|b| b.closes() <= day);
        self.0.split_off(at)
    }

    /// Room for one more bucket: most chains are short and many, so they grow by little.
    fn make_room(&mut self) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(1 + self.0.len() / 4);
        }
    }

    /// Adds one day's usage. Returns the start of the bucket that took it.
    pub fn add(&mut self, day: Day, unit_days: u32, added: &Daily) -> Result<Day, NeedsRebuild> {
        let next = self.0.partition_point(|b| b.start <= day);
        if let Some(bucket) = next.checked_sub(1).and_then(|i| self.0.get_mut(i)).filter(|b| b.takes(day)) {
            bucket.usage.add(&added.usage);
            bucket.records += added.records;
            bucket.end = bucket.end.max(day);
            return Ok(bucket.start);
        }
        let opened = Bucket::open(day, unit_days, added);
        if self.0.get(next).is_some_and(|following| following.start < opened.closes()) {
            return Err(NeedsRebuild);
        }
        self.make_room();
        self.0.insert(next, opened);
        Ok(day)
    }

    /// The first day whose records are needed to fold the chain again from `day` on.
    pub fn fold_start(&self, day: Day) -> Day {
        self.0.iter().find(|b| b.closes() > day).map_or(day, |b| b.start.min(day))
    }

    /// Opens a bucket that ends where the following one starts.
    pub fn add_short(&mut self, day: Day, added: &Daily) -> Result<Day, NeedsRebuild> {
        let next = self.0.partition_point(|b| b.start <= day);
        let following = self.0.get(next).ok_or(NeedsRebuild)?;
        let room = following.start.days_since(day).unsigned_abs();
        self.make_room();
        self.0.insert(next, Bucket::open(day, room, added));
        Ok(day)
    }

    /// Takes one day's usage back. Only a one-day bucket knows which days it still covers.
    pub fn subtract(&mut self, day: Day, removed: &Daily) -> Result<Day, NeedsRebuild> {
        let bucket = self.0.iter().find(|b| b.takes(day)).ok_or(NeedsRebuild)?;
        if bucket.unit_days != 1 || bucket.records < removed.records {
            return Err(NeedsRebuild);
        }
        self.subtract_kept(day, removed)
    }

    /// Takes one day's usage back from a bucket that keeps its days, because it cannot be folded again.
    pub fn subtract_kept(&mut self, day: Day, removed: &Daily) -> Result<Day, NeedsRebuild> {
        let at = self.0.iter().position(|b| b.takes(day)).ok_or(NeedsRebuild)?;
        let bucket = &mut self.0[at];
        let start = bucket.start;
        bucket.usage.subtract(&removed.usage);
        bucket.records = bucket.records.saturating_sub(removed.records);
        if bucket.records == 0 {
            self.0.remove(at);
        }
        Ok(start)
    }
}
