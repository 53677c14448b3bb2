//! The usage buckets of one domain, project or user in a resource group (FAIR_SHARE §5).
//!
//! A bucket holds the usage of up to `decay_unit_days` days. Usage mostly arrives for the newest day, which the last bucket
//! takes or a new one opens. Usage of an earlier day goes into the bucket that is open on that day. Where it would move later
//! buckets, the series does not guess: it returns [`NeedsRebuild`], and the caller folds the series again from its records.
//!
//! Invariants: buckets ascend by their first day, they do not overlap, and each has at least one record.

use std::sync::Arc;

use super::bucket::{Bucket, DayUsage, NeedsRebuild};
use super::normalized_days::{NormalizedBucket, NormalizedDays};
use super::slots::{SlotAmounts, SlotUsages};
use super::time::Day;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BucketSeries {
    buckets: Vec<Bucket>,
    /// The usage of each bucket over capacity; `None` until it is asked for, and after each change.
    normalized: Option<NormalizedDays>,
}

impl BucketSeries {
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The first and the last day with usage of each bucket.
    pub fn spans(&self) -> impl Iterator<Item = (Day, Day)> + '_ {
        self.buckets.iter().map(|bucket| (bucket.start, bucket.end))
    }

    pub fn bucket(&self, start: Day) -> Option<&Bucket> {
        self.find(start).map(|at| &self.buckets[at])
    }

    fn find(&self, start: Day) -> Option<usize> {
        self.buckets.binary_search_by_key(&start, |bucket| bucket.start).ok()
    }

    /// How many buckets start before `day`.
    fn count_before(&self, day: Day) -> usize {
        self.buckets.partition_point(|bucket| bucket.start < day)
    }

    /// The usage of each bucket over one day of its capacity, which `normalize` returns for one bucket.
    pub fn normalized_days(&self, normalize: impl FnMut(&Arc<SlotAmounts>, &SlotUsages) -> f64) -> NormalizedDays {
        match &self.normalized {
            Some(known) => Arc::clone(known),
            None => self.compute_normalized(normalize),
        }
    }

    /// Keeps the [`Self::normalized_days`].
    pub fn keep_normalized(&mut self, normalize: impl FnMut(&Arc<SlotAmounts>, &SlotUsages) -> f64) {
        if self.normalized.is_none() {
            self.normalized = Some(self.compute_normalized(normalize));
        }
    }

    /// Other weights of slots give other normalised usages.
    pub fn forget_normalized(&mut self) {
        self.normalized = None;
    }

    fn compute_normalized(&self, mut normalize: impl FnMut(&Arc<SlotAmounts>, &SlotUsages) -> f64) -> NormalizedDays {
        let of_bucket = |bucket: &Bucket| NormalizedBucket {
            first: bucket.start,
            last: bucket.end,
            normalized: normalize(&bucket.capacity, &bucket.usage),
        };
        self.buckets.iter().map(of_bucket).collect()
    }

    /// The last day with usage of the bucket that starts on `start`, and its capacity.
    pub fn capacity_of(&self, start: Day) -> Option<(Day, &Arc<SlotAmounts>)> {
        self.bucket(start).map(|bucket| (bucket.end, &bucket.capacity))
    }

    pub fn set_capacity(&mut self, start: Day, capacity: &Arc<SlotAmounts>) {
        if let Some(at) = self.find(start)
            && self.buckets[at].capacity != *capacity
        {
            self.buckets[at].capacity = Arc::clone(capacity);
            self.normalized = None;
        }
    }

    /// The starts of the buckets without any capacity.
    pub fn lacking_capacity(&self) -> impl Iterator<Item = Day> + '_ {
        self.buckets.iter().filter(|bucket| bucket.capacity.is_empty()).map(|bucket| bucket.start)
    }

    /// Puts a stored bucket in its place, without slots of which nothing was used.
    pub fn place(&mut self, bucket: Bucket) {
        let usage = bucket.usage.filtered(|usage| !usage.is_zero());
        self.insert(self.count_before(bucket.start), Bucket { usage, ..bucket });
    }

    fn insert(&mut self, at: usize, bucket: Bucket) {
        self.buckets.insert(at, bucket);
        self.normalized = None;
    }

    /// Drops what starts before `day` from memory. Stored buckets stay.
    pub fn forget_before(&mut self, day: Day) {
        let count = self.count_before(day);
        if count > 0 {
            self.buckets.drain(..count);
            self.buckets.shrink_to_fit();
            self.normalized = None;
        }
    }

    /// Removes and returns every bucket that could be affected by a day at or after `day`.
    pub fn split_off(&mut self, day: Day) -> Vec<Bucket> {
        let at = self.buckets.iter().position(|bucket| bucket.closes() > day).unwrap_or(self.len());
        let split = self.buckets.split_off(at);
        if !split.is_empty() {
            self.normalized = None;
        }
        split
    }

    /// Adds one day's usage. Returns the start of the bucket that took it.
    pub fn add(&mut self, day: Day, unit_days: u32, added: &DayUsage) -> Result<Day, NeedsRebuild> {
        let next = self.buckets.partition_point(|bucket| bucket.start <= day);
        if let Some(bucket) = self.buckets[..next].last_mut().filter(|bucket| bucket.takes(day)) {
            bucket.usage.add(&added.usage);
            bucket.records += added.records;
            bucket.end = bucket.end.max(day);
            self.normalized = None;
            return Ok(bucket.start);
        }
        let opened = Bucket::open(day, unit_days, added);
        if self.buckets.get(next).is_some_and(|following| following.start < opened.closes()) {
            return Err(NeedsRebuild);
        }
        self.insert(next, opened);
        Ok(day)
    }

    /// The first day whose records are needed to fold the series again from `day` on.
    pub fn fold_start(&self, day: Day) -> Day {
        let first = self.buckets.iter().find(|bucket| bucket.closes() > day);
        first.map_or(day, |bucket| bucket.start.min(day))
    }

    /// Opens a bucket that ends where the following one starts.
    pub fn add_short(&mut self, day: Day, added: &DayUsage) -> Result<Day, NeedsRebuild> {
        let next = self.buckets.partition_point(|bucket| bucket.start <= day);
        let following = self.buckets.get(next).ok_or(NeedsRebuild)?;
        let room = following.start.days_since(day).unsigned_abs();
        self.insert(next, Bucket::open(day, room, added));
        Ok(day)
    }

    /// Takes one day's usage back. A bucket of several days does not know which of them it still covers.
    pub fn subtract(&mut self, day: Day, removed: &DayUsage) -> Result<Day, NeedsRebuild> {
        let bucket = &self.buckets[self.find_taking(day)?];
        if bucket.unit_days != 1 || bucket.records < removed.records {
            return Err(NeedsRebuild);
        }
        self.subtract_kept(day, removed)
    }

    fn find_taking(&self, day: Day) -> Result<usize, NeedsRebuild> {
        self.buckets.iter().position(|bucket| bucket.takes(day)).ok_or(NeedsRebuild)
    }

    /// Takes one day's usage back from a bucket that keeps its days, because it cannot be folded again.
    pub fn subtract_kept(&mut self, day: Day, removed: &DayUsage) -> Result<Day, NeedsRebuild> {
        let at = self.find_taking(day)?;
        let bucket = &mut self.buckets[at];
        bucket.usage.subtract(&removed.usage);
        bucket.records = bucket.records.saturating_sub(removed.records);
        let start = bucket.start;
        if bucket.records == 0 {
            self.buckets.remove(at);
        }
        self.normalized = None;
        Ok(start)
    }
}
