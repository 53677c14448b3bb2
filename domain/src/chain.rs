//! The buckets of one entity (FAIR_SHARE §5). A server holds millions of buckets, so they are packed.

use std::hint::black_box;
use std::sync::Arc;

use super::bucket::{Bucket, Daily, NeedsRebuild};
use super::capacities::Capacities;
use super::fairness::Days;
use super::packed::{Entry, Packed, Run};
use super::slots::{Amounts, Usages};
use super::time::Day;
use super::trail::{Part, Trail};

/// Bytes that memory brings at once.
const LINE: usize = 64;

/// Buckets, ascending, disjoint.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The days of each bucket, and its usage over one day of the capacity: not a number until it is asked for.
    trail: Trail,
    capacities: Capacities,
    packed: Packed,
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Chain {
    pub fn len(&self) -> usize {
        self.trail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.trail.is_empty()
    }

    /// What it and its blocks take, in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.trail) + self.capacities.memory() + self.packed.memory()
    }

    pub fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        (0..self.len()).map(|at| self.at(at))
    }

    /// The bucket at a place from 0 on.
    pub fn at(&self, at: usize) -> Bucket {
        let (start, end) = self.span(at);
        let Entry { unit_days, records, usage } = self.packed.get(at);
        Bucket { start, end, unit_days, usage, records, capacity: Arc::clone(self.capacity(at)) }
    }

    /// The days of each bucket, and its usage over one day of the capacity: not a number where [`Self::normalized`] is not known.
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// The first and the last day with usage of each bucket.
    pub fn spans(&self) -> impl Iterator<Item = (Day, Day)> + '_ {
        (0..self.len()).map(|at| self.span(at))
    }

    /// The first and the last day with usage of the bucket at a place.
    pub fn span(&self, at: usize) -> (Day, Day) {
        let Days { first, last } = self.trail[at].days();
        (first, last)
    }

    pub fn bucket(&self, start: Day) -> Option<Bucket> {
        self.find(start).map(|at| self.at(at))
    }

    /// Whether a bucket of one day starts on `day`.
    pub fn has_one_day(&self, day: Day) -> bool {
        self.find(day).is_some_and(|at| self.packed.unit_days(at) == 1)
    }

    /// The starts of the buckets of one day from `from` on.
    pub fn single_days(&self, from: Day) -> impl Iterator<Item = Day> + '_ {
        (self.before(from)..self.len()).filter(|at| self.packed.unit_days(*at) == 1).map(|at| self.trail[at].start())
    }

    fn find(&self, start: Day) -> Option<usize> {
        self.trail.binary_search_by_key(&start, |part| part.start()).ok()
    }

    /// How many buckets start before `day`.
    fn before(&self, day: Day) -> usize {
        self.trail.partition_point(|part| part.start() < day)
    }

    /// How many buckets start on `day` or before.
    fn up_to(&self, day: Day) -> usize {
        self.trail.partition_point(|part| part.start() <= day)
    }

    pub fn usage(&self, at: usize) -> Usages {
        self.packed.usage(at)
    }

    /// The sum of the usages of some buckets, each times a part.
    pub fn weighed(&self, runs: &[Run]) -> Usages {
        self.packed.weighed(runs)
    }

    /// Reads a little of each part, so that all of it is at hand soon.
    pub fn fetch(&self) {
        let days = self.trail.iter().step_by(LINE / size_of::<Part>()).fold(0, |sum, part| sum ^ part.start().0);
        black_box((days, self.packed.fetch(LINE)));
    }

    pub fn capacity(&self, at: usize) -> &Arc<Amounts> {
        self.capacities.get(at)
    }

    /// The usage over one day of the capacity, if it is known.
    pub fn normalized(&self, at: usize) -> Option<f64> {
        Some(self.trail[at].normalized()).filter(|known| !known.is_nan())
    }

    /// The trail with the usage over one day of the capacity of each bucket, as `of` tells it where it is not known.
    pub fn normalized_trail(&self, of: impl FnMut(&Arc<Amounts>, &Usages) -> f64) -> Trail {
        let mut trail = Arc::clone(&self.trail);
        self.fill_in(&mut trail, of);
        trail
    }

    /// Keeps the [`Self::normalized_trail`].
    pub fn normalize(&mut self, of: impl FnMut(&Arc<Amounts>, &Usages) -> f64) {
        // Taken out, it is changed in place unless another has it, too.
        let mut trail = std::mem::take(&mut self.trail);
        self.fill_in(&mut trail, of);
        self.trail = trail;
    }

    /// Tells the trail of these buckets what it does not know. One that knows all stays shared.
    fn fill_in(&self, trail: &mut Trail, mut of: impl FnMut(&Arc<Amounts>, &Usages) -> f64) {
        for at in 0..trail.len() {
            let part = trail[at];
            if part.normalized().is_nan() {
                let normalized = of(self.capacity(at), &self.packed.usage(at));
                Arc::make_mut(trail)[at] = Part::new(part.days(), normalized);
            }
        }
    }

    /// Other weights of slots give other normalised usages.
    pub fn forget_normalized(&mut self) {
        self.trail = self.trail.iter().map(|part| Part::new(part.days(), f64::NAN)).collect();
    }

    /// The capacity of the bucket that starts on `start`; `None`: there is none.
    pub fn capacity_of(&self, start: Day) -> Option<(Day, &Arc<Amounts>)> {
        let at = self.find(start)?;
        Some((self.span(at).1, self.capacity(at)))
    }

    pub fn set_capacity(&mut self, start: Day, capacity: &Arc<Amounts>) {
        if let Some(at) = self.find(start)
            && self.capacity(at) != capacity
        {
            self.set_part(at, self.trail[at].days());
            self.capacities.set(at, capacity);
        }
    }

    /// The starts of the buckets without any capacity.
    pub fn lacking_capacity(&self) -> impl Iterator<Item = Day> + '_ {
        let starts = self.trail.iter().map(|part| part.start());
        starts.zip(self.capacities.iter()).filter(|(_, capacity)| capacity.is_empty()).map(|(start, _)| start)
    }

    /// Puts a stored bucket in its place.
    pub fn place(&mut self, bucket: &Bucket) {
        self.insert(self.before(bucket.start), bucket);
    }

    /// Drops what starts before `day`; gives memory back, never touches storage.
    pub fn forget_before(&mut self, day: Day) {
        let count = self.before(day);
        if count > 0 {
            self.trail = self.trail[count..].into();
            self.capacities.remove(0..count);
            self.packed.remove(0..count);
        }
    }

    /// Removes and returns every bucket that could be affected by a day at or after `day`.
    pub fn split_off(&mut self, day: Day) -> Vec<Bucket> {
        let at = (0..self.len()).find(|at| self.closes(*at) > day).unwrap_or(self.len());
        let split: Vec<Bucket> = (at..self.len()).map(|at| self.at(at)).collect();
        if !split.is_empty() {
            self.capacities.remove(at..self.trail.len());
            self.trail = self.trail[..at].into();
            self.packed.truncate(at);
        }
        split
    }

    /// The first day that a bucket can no longer take.
    fn closes(&self, at: usize) -> Day {
        self.trail[at].start().plus(self.packed.unit_days(at).cast_signed())
    }

    fn takes(&self, at: usize, day: Day) -> bool {
        day >= self.trail[at].start() && day < self.closes(at)
    }

    fn insert(&mut self, at: usize, bucket: &Bucket) {
        let part = Part::new(Days { first: bucket.start, last: bucket.end }, f64::NAN);
        let (before, after) = self.trail.split_at(at);
        self.trail = before.iter().copied().chain([part]).chain(after.iter().copied()).collect();
        self.capacities.insert(at, &bucket.capacity);
        let Bucket { unit_days, records, .. } = *bucket;
        self.packed.insert(at, &Entry { unit_days, records, usage: bucket.usage.clone() });
    }

    /// Gives a bucket its days; its usage over capacity is not known any more.
    fn set_part(&mut self, at: usize, days: Days) {
        Arc::make_mut(&mut self.trail)[at] = Part::new(days, f64::NAN);
    }

    /// Adds one day's usage. Returns the start of the bucket that took it.
    pub fn add(&mut self, day: Day, unit_days: u32, added: &Daily) -> Result<Day, NeedsRebuild> {
        let next = self.up_to(day);
        if let Some(at) = next.checked_sub(1).filter(|at| self.takes(*at, day)) {
            let mut entry = self.packed.get(at);
            entry.usage.add(&added.usage);
            entry.records += added.records;
            self.packed.set(at, &entry);
            let (first, last) = self.span(at);
            self.set_part(at, Days { first, last: last.max(day) });
            return Ok(first);
        }
        let opened = Bucket::open(day, unit_days, added);
        if self.trail.get(next).is_some_and(|following| following.start() < opened.closes()) {
            return Err(NeedsRebuild);
        }
        self.insert(next, &opened);
        Ok(day)
    }

    /// The first day whose records are needed to fold the chain again from `day` on.
    pub fn fold_start(&self, day: Day) -> Day {
        let first = (0..self.len()).find(|at| self.closes(*at) > day);
        first.map_or(day, |at| self.trail[at].start().min(day))
    }

    /// Opens a bucket that ends where the following one starts.
    pub fn add_short(&mut self, day: Day, added: &Daily) -> Result<Day, NeedsRebuild> {
        let next = self.up_to(day);
        let following = self.trail.get(next).ok_or(NeedsRebuild)?;
        let room = following.start().days_since(day).unsigned_abs();
        self.insert(next, &Bucket::open(day, room, added));
        Ok(day)
    }

    /// Takes one day's usage back. Only a one-day bucket knows which days it still covers.
    pub fn subtract(&mut self, day: Day, removed: &Daily) -> Result<Day, NeedsRebuild> {
        let at = self.taking(day)?;
        if self.packed.unit_days(at) != 1 || self.packed.records(at) < removed.records {
            return Err(NeedsRebuild);
        }
        self.subtract_kept(day, removed)
    }

    fn taking(&self, day: Day) -> Result<usize, NeedsRebuild> {
        (0..self.len()).find(|at| self.takes(*at, day)).ok_or(NeedsRebuild)
    }

    /// Takes one day's usage back from a bucket that keeps its days, because it cannot be folded again.
    pub fn subtract_kept(&mut self, day: Day, removed: &Daily) -> Result<Day, NeedsRebuild> {
        let at = self.taking(day)?;
        let start = self.trail[at].start();
        let mut entry = self.packed.get(at);
        entry.usage.subtract(&removed.usage);
        entry.records = entry.records.saturating_sub(removed.records);
        if entry.records == 0 {
            let (before, after) = self.trail.split_at(at);
            self.trail = before.iter().chain(&after[1..]).copied().collect();
            self.capacities.remove(at..at + 1);
            self.packed.remove(at..at + 1);
        } else {
            self.packed.set(at, &entry);
            self.set_part(at, self.trail[at].days());
        }
        Ok(start)
    }
}
