//! Usage buckets (FAIR_SHARE §5): one chain of buckets for each entity of each tier.

use std::sync::Arc;

use super::packed::Packed;
use super::slots::{Amounts, SlotName, Usages};
use super::time::Day;
use crate::domain::decimal::Number;

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

/// What of a bucket has a fixed size.
#[derive(Clone, Debug)]
struct Head {
    start: Day,
    /// From the first to the last day with usage.
    days: u16,
    unit_days: u16,
    capacity: Arc<Amounts>,
    /// The usage over one day of the capacity; not a number until somebody asks.
    normalized: f64,
}

impl Head {
    fn end(&self) -> Day {
        self.start.plus(self.days.into())
    }

    fn closes(&self) -> Day {
        self.start.plus(self.unit_days.into())
    }

    fn takes(&self, day: Day) -> bool {
        day >= self.start && day < self.closes()
    }
}

/// So many days; none is longer than an option allows.
fn days(count: u32) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The buckets of one entity, ascending, disjoint. A server holds millions, so usages are packed.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    heads: Vec<Head>,
    /// The usage and the records of each.
    packed: Packed,
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Chain {
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// What it and its blocks take, in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.heads.capacity() * size_of::<Head>() + self.packed.memory()
    }

    pub fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        (0..self.len()).map(|at| self.at(at))
    }

    /// The bucket at a place from 0 on.
    pub fn at(&self, at: usize) -> Bucket {
        let head = &self.heads[at];
        let (usage, records) = self.packed.get(at);
        Bucket {
            start: head.start,
            end: head.end(),
            unit_days: head.unit_days.into(),
            usage,
            records,
            capacity: Arc::clone(&head.capacity),
        }
    }

    /// The first and the last day with usage of each bucket.
    pub fn spans(&self) -> impl Iterator<Item = (Day, Day)> + '_ {
        self.heads.iter().map(|head| (head.start, head.end()))
    }

    /// The first and the last day with usage of the bucket at a place.
    pub fn span(&self, at: usize) -> (Day, Day) {
        let head = &self.heads[at];
        (head.start, head.end())
    }

    pub fn bucket(&self, start: Day) -> Option<Bucket> {
        self.find(start).map(|at| self.at(at))
    }

    fn find(&self, start: Day) -> Option<usize> {
        self.heads.binary_search_by_key(&start, |head| head.start).ok()
    }

    pub fn start(&self, at: usize) -> Day {
        self.heads[at].start
    }

    /// The slots that any bucket names; [`Self::usages`] counts them.
    pub fn slots(&self) -> &[SlotName] {
        self.packed.slots()
    }

    /// The usages of one bucket, each with its place in [`Self::slots`].
    pub fn usages(&self, at: usize) -> impl Iterator<Item = (usize, Number)> + '_ {
        self.packed.usages(at)
    }

    pub fn usage(&self, at: usize) -> Usages {
        self.packed.get(at).0
    }

    pub fn capacity(&self, at: usize) -> &Arc<Amounts> {
        &self.heads[at].capacity
    }

    /// The usage over one day of the capacity, if it is known.
    pub fn normalized(&self, at: usize) -> Option<f64> {
        Some(self.heads[at].normalized).filter(|known| !known.is_nan())
    }

    pub fn set_normalized(&mut self, at: usize, normalized: f64) {
        self.heads[at].normalized = normalized;
    }

    /// Other weights of slots give other normalised usages.
    pub fn forget_normalized(&mut self) {
        for head in &mut self.heads {
            head.normalized = f64::NAN;
        }
    }

    /// The capacity of the bucket that starts on `start`; `None`: there is none.
    pub fn capacity_of(&self, start: Day) -> Option<(Day, &Arc<Amounts>)> {
        let head = &self.heads[self.find(start)?];
        Some((head.end(), &head.capacity))
    }

    pub fn set_capacity(&mut self, start: Day, capacity: &Arc<Amounts>) {
        if let Some(at) = self.find(start) {
            let head = &mut self.heads[at];
            if head.capacity != *capacity {
                head.normalized = f64::NAN;
            }
            head.capacity = Arc::clone(capacity);
        }
    }

    /// The starts of the buckets without any capacity.
    pub fn lacking_capacity(&self) -> impl Iterator<Item = Day> + '_ {
        self.heads.iter().filter(|head| head.capacity.is_empty()).map(|head| head.start)
    }

    /// Puts a stored bucket in its place.
    pub fn place(&mut self, bucket: &Bucket) {
        let at = self.heads.partition_point(|head| head.start < bucket.start);
        self.insert(at, bucket);
    }

    /// Drops what starts before `day`; gives memory back, never touches storage.
    pub fn forget_before(&mut self, day: Day) {
        let count = self.heads.partition_point(|head| head.start < day);
        self.heads.drain(..count);
        self.packed.remove_first(count);
    }

    /// Removes and returns every bucket that could be affected by a day at or after `day`.
    pub fn split_off(&mut self, day: Day) -> Vec<Bucket> {
        let at = self.heads.partition_point(|head| head.closes() <= day);
        let split = (at..self.len()).map(|at| self.at(at)).collect();
        self.heads.truncate(at);
        self.packed.truncate(at);
        split
    }

    fn insert(&mut self, at: usize, bucket: &Bucket) {
        // Most chains are short and many, so they grow by little.
        if self.heads.len() == self.heads.capacity() {
            self.heads.reserve_exact(1 + self.heads.len() / 16);
        }
        let head = Head {
            start: bucket.start,
            days: days(bucket.end.days_since(bucket.start).unsigned_abs()),
            unit_days: days(bucket.unit_days),
            capacity: Arc::clone(&bucket.capacity),
            normalized: f64::NAN,
        };
        self.heads.insert(at, head);
        self.packed.insert(at, &bucket.usage, bucket.records);
    }

    /// Adds one day's usage. Returns the start of the bucket that took it.
    pub fn add(&mut self, day: Day, unit_days: u32, added: &Daily) -> Result<Day, NeedsRebuild> {
        let next = self.heads.partition_point(|head| head.start <= day);
        if let Some(at) = next.checked_sub(1).filter(|at| self.heads[*at].takes(day)) {
            let (mut usage, records) = self.packed.get(at);
            usage.add(&added.usage);
            self.packed.set(at, &usage, records + added.records);
            let head = &mut self.heads[at];
            head.normalized = f64::NAN;
            head.days = head.days.max(days(day.days_since(head.start).unsigned_abs()));
            return Ok(head.start);
        }
        let opened = Bucket::open(day, unit_days, added);
        if self.heads.get(next).is_some_and(|following| following.start < opened.closes()) {
            return Err(NeedsRebuild);
        }
        self.insert(next, &opened);
        Ok(day)
    }

    /// The first day whose records are needed to fold the chain again from `day` on.
    pub fn fold_start(&self, day: Day) -> Day {
        self.heads.iter().find(|head| head.closes() > day).map_or(day, |head| head.start.min(day))
    }

    /// Opens a bucket that ends where the following one starts.
    pub fn add_short(&mut self, day: Day, added: &Daily) -> Result<Day, NeedsRebuild> {
        let next = self.heads.partition_point(|head| head.start <= day);
        let following = self.heads.get(next).ok_or(NeedsRebuild)?;
        let room = following.start.days_since(day).unsigned_abs();
        self.insert(next, &Bucket::open(day, room, added));
        Ok(day)
    }

    /// Takes one day's usage back. Only a one-day bucket knows which days it still covers.
    pub fn subtract(&mut self, day: Day, removed: &Daily) -> Result<Day, NeedsRebuild> {
        let at = self.heads.iter().position(|head| head.takes(day)).ok_or(NeedsRebuild)?;
        if self.heads[at].unit_days != 1 || self.packed.get(at).1 < removed.records {
            return Err(NeedsRebuild);
        }
        self.subtract_kept(day, removed)
    }

    /// Takes one day's usage back from a bucket that keeps its days, because it cannot be folded again.
    pub fn subtract_kept(&mut self, day: Day, removed: &Daily) -> Result<Day, NeedsRebuild> {
        let at = self.heads.iter().position(|head| head.takes(day)).ok_or(NeedsRebuild)?;
        let start = self.heads[at].start;
        let (mut usage, records) = self.packed.get(at);
        usage.subtract(&removed.usage);
        let records = records.saturating_sub(removed.records);
        if records == 0 {
            self.heads.remove(at);
            self.packed.remove(at);
        } else {
            self.heads[at].normalized = f64::NAN;
            self.packed.set(at, &usage, records);
        }
        Ok(start)
    }
}
