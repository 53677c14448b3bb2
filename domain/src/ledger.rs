//! The ledger has the buckets of one resource group in all three tiers (FAIR_SHARE §5) and the capacities of days.
//!
//! The problem: every record of usage belongs to three buckets (domain, project, user), records may arrive late or be
//! withdrawn, and a group may have millions of buckets. Reading them from the database for each run would take too
//! long, so they stay in memory, from `loaded_from` on, as one [`Chain`] for each owner.
//!
//! The caller adds sums of records with [`Ledger::apply`] and [`Ledger::retract`]. Where a day does not fit into the
//! existing buckets, these return owners whose chains the caller has to fold again from records, with
//! [`Ledger::refold`]. [`Ledger::normalize`] and [`Ledger::history`] then compute the decayed usage of owners.
//!
//! The ledger is not the place of records, weights or factors, and it does no I/O: [`Ledger::take_changes`] returns the
//! rows that the caller has to store.
//!
//! Invariants:
//! - Users, projects and domains of a day have the same sum, once the returned chains are folded again.
//! - A bucket has the capacity of its last day with usage, once `settle_capacities` has run.
//! - `stale` contains every owner whose buckets have changed since the last `normalize`.

mod refolding;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bucket::{Bucket, DayUsage};
use super::bucket_series::BucketSeries;
use super::capacity::{CapacityCalendar, CapacitySource, DayCapacity};
use super::factor::{DecayedHistory, HistoryDecayer};
use super::ids::Owner;
use super::increments::IncrementSums;
use super::maps::{FastMap, FastSet};
use super::normalized_days::NormalizedDaysByOwner;
use super::parallel;
use super::slots::SlotAmounts;
use super::time::{Day, TimeSpan, Timestamp};

/// If more than one in `EXAMINE_ALL_DIVISOR` series may have changed, all are examined in parallel, because this takes less time.
const EXAMINE_ALL_DIVISOR: usize = 4;

/// The rows that differ from the database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerChanges {
    pub upserts: BTreeSet<(Owner, Day)>,
    pub deletes: BTreeSet<(Owner, Day)>,
    pub capacity_days: BTreeSet<Day>,
}

impl LedgerChanges {
    pub fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.deletes.is_empty() && self.capacity_days.is_empty()
    }
}

/// The buckets and capacities of one group, from `loaded_from` on.
#[derive(Clone, Debug)]
pub struct Ledger {
    series: FastMap<Owner, BucketSeries>,
    calendar: CapacityCalendar,
    loaded_from: Day,
    changes: LedgerChanges,
    /// True if some bucket was found while the group had no capacity at all.
    some_lack_capacity: bool,
    /// The owners whose buckets have changed since histories were last calculated.
    stale: FastSet<Owner>,
    /// The weights of slots of the present normalised usages.
    normalized_with: SlotAmounts,
    /// True if owners that are not stale may have buckets without normalised usage.
    some_not_normalized: bool,
}

impl Ledger {
    /// An empty ledger that counts as complete from `loaded_from` on.
    pub fn new(calendar: CapacityCalendar, loaded_from: Day) -> Self {
        Self {
            series: FastMap::default(),
            calendar,
            loaded_from,
            changes: LedgerChanges::default(),
            some_lack_capacity: false,
            stale: FastSet::default(),
            normalized_with: SlotAmounts::default(),
            some_not_normalized: false,
        }
    }

    pub fn loaded_from(&self) -> Day {
        self.loaded_from
    }

    pub fn buckets(&self, owner: &Owner) -> &[Bucket] {
        self.series.get(owner).map_or(&[], BucketSeries::buckets)
    }

    pub fn all_series(&self) -> impl Iterator<Item = (&Owner, &BucketSeries)> {
        self.series.iter()
    }

    pub fn bucket(&self, owner: &Owner, start: Day) -> Option<&Bucket> {
        self.series.get(owner).and_then(|c| c.bucket(start))
    }

    /// The start of the bucket of `owner` whose days with usage include `day`.
    pub fn start_of(&self, owner: &Owner, day: Day) -> Option<Day> {
        let spans = self.series.get(owner)?.spans();
        spans.take_while(|(start, _)| *start <= day).last().filter(|(_, end)| *end >= day).map(|(start, _)| start)
    }

    pub fn calendar(&self) -> &CapacityCalendar {
        &self.calendar
    }

    /// The rows that have to be stored.
    pub fn changes(&self) -> &LedgerChanges {
        &self.changes
    }

    /// Returns the rows that have to be stored since the last call, and clears the list.
    pub fn take_changes(&mut self) -> LedgerChanges {
        std::mem::take(&mut self.changes)
    }

    /// Adds a bucket from the database.
    pub fn load(&mut self, owner: Owner, bucket: Bucket) {
        self.some_lack_capacity |= bucket.capacity.is_empty();
        self.some_not_normalized = true;
        self.series.entry(owner).or_default().place(bucket);
    }

    /// Extends the ledger back to the earlier `day`. The caller loads the missing buckets. Buckets in memory stay as
    /// they are.
    pub fn reach_back(&mut self, day: Day) {
        self.loaded_from = self.loaded_from.min(day);
    }

    /// Drops buckets that started before `day`, to free memory.
    pub fn forget_before(&mut self, day: Day) {
        if day > self.loaded_from {
            for series in self.series.values_mut() {
                series.forget_before(day);
            }
            self.series.retain(|_, series| !series.is_empty());
            self.loaded_from = day;
        }
    }

    /// Removes buckets that reach `day` or a later day.
    pub fn forget_from(&mut self, day: Day) {
        self.series.values_mut().for_each(|series| drop(series.split_off(day)));
    }

    /// Adds usage. Returns the owners whose series have to be folded again, with the first day to fold. Days before
    /// `known_from` cannot be read again; where they would be needed, a shorter bucket fills the gap.
    pub fn apply(&mut self, sums: &IncrementSums, unit_days: u32, known_from: Option<Day>) -> BTreeMap<Owner, Day> {
        let mut refold: BTreeMap<Owner, Day> = BTreeMap::new();
        for (day, owner, daily) in sums.by_owner() {
            if !refold.contains_key(&owner)
                && let Some(owner) = self.place(owner, day, unit_days, &daily, known_from)
            {
                refold.insert(owner, day);
            }
        }
        refold
    }

    /// Subtracts usage that was recorded past a kernel's end. Returns the owners whose chains have to be folded again.
    /// A bucket that began before `known_from` cannot be folded again and keeps its days.
    pub fn retract(&mut self, removed: &IncrementSums, known_from: Option<Day>) -> BTreeMap<Owner, Day> {
        let mut refold: BTreeMap<Owner, Day> = BTreeMap::new();
        for (day, owner, daily) in removed.by_owner() {
            if refold.contains_key(&owner) {
                continue;
            }
            if let Some(owner) = self.take_back(owner, day, &daily, known_from) {
                refold.insert(owner, day);
            }
        }
        refold
    }

    /// Moves usage of days from one owner to another. Returns the owners whose chains have to be folded again, after
    /// the caller has changed the owner of the records.
    pub fn move_usage(
        &mut self,
        from: &Owner,
        to: &Owner,
        days: &BTreeMap<Day, DayUsage>,
        unit_days: u32,
        known_from: Option<Day>,
    ) -> BTreeMap<Owner, Day> {
        let mut refold: BTreeMap<Owner, Day> = BTreeMap::new();
        for (day, daily) in days {
            if !refold.contains_key(from)
                && let Some(owner) = self.take_back(from.clone(), *day, daily, known_from)
            {
                refold.insert(owner, *day);
            }
            if !refold.contains_key(to)
                && let Some(owner) = self.place(to.clone(), *day, unit_days, daily, known_from)
            {
                refold.insert(owner, *day);
            }
        }
        refold
    }

    /// Adds the usage of a day. Returns the owner if its series has to be folded again.
    fn place(
        &mut self,
        owner: Owner,
        day: Day,
        unit_days: u32,
        daily: &DayUsage,
        known_from: Option<Day>,
    ) -> Option<Owner> {
        let series = self.series.entry(owner.clone()).or_default();
        let placed = match series.add(day, unit_days, daily) {
            Err(_) if known_from.is_some_and(|from| series.fold_start(day) < from) => series.add_short(day, daily),
            placed => placed,
        };
        let Ok(start) = placed else { return Some(owner) };
        self.touch(owner, start);
        None
    }

    /// Subtracts the usage of a day. Returns the owner if its series has to be folded again.
    fn take_back(&mut self, owner: Owner, day: Day, daily: &DayUsage, known_from: Option<Day>) -> Option<Owner> {
        let series = self.series.entry(owner.clone()).or_default();
        let taken = match series.subtract(day, daily) {
            Err(_) if known_from.is_some_and(|from| series.fold_start(day) < from) => series.subtract_kept(day, daily),
            taken => taken,
        };
        match taken {
            Ok(start) if series.capacity_of(start).is_some() => self.touch(owner, start),
            Ok(start) => self.drop_bucket(owner, start),
            // The bucket was purged, so there is nothing to subtract from.
            Err(_) if known_from.is_some_and(|from| day < from) => {}
            Err(_) => return Some(owner),
        }
        None
    }

    /// The first day whose records are needed to fold `owner` again from `day` on.
    pub fn refold_from(&self, owner: &Owner, day: Day) -> Day {
        self.series.get(owner).map_or(day, |series| series.fold_start(day))
    }

    /// Folds an owner's series again from `from` on. `daily` has all of its usage since then.
    pub fn refold(&mut self, owner: &Owner, from: Day, unit_days: u32, daily: &BTreeMap<Day, DayUsage>) {
        let series = self.series.entry(owner.clone()).or_default();
        let old = series.split_off(from);
        let mut opened = BTreeSet::new();
        for (day, usage) in daily.range(from..) {
            // Ascending days always find a bucket.
            if let Ok(start) = series.add(*day, unit_days, usage) {
                opened.insert(start);
            }
        }
        for bucket in old.iter().filter(|b| !opened.contains(&b.start)) {
            self.drop_bucket(owner.clone(), bucket.start);
        }
        for start in opened {
            self.touch(owner.clone(), start);
        }
    }

    fn touch(&mut self, owner: Owner, start: Day) {
        self.stale.insert(owner.clone());
        let bucket = (owner, start);
        self.changes.deletes.remove(&bucket);
        self.changes.upserts.insert(bucket);
    }

    fn drop_bucket(&mut self, owner: Owner, start: Day) {
        self.stale.insert(owner.clone());
        let bucket = (owner, start);
        self.changes.upserts.remove(&bucket);
        self.changes.deletes.insert(bucket);
    }

    /// Adds the observation that the group offered `capacity` during `span` and offers it today.
    pub fn observe_capacity(&mut self, span: Option<TimeSpan>, today: Day, capacity: &SlotAmounts) {
        let parts = span.into_iter().flat_map(TimeSpan::by_day).map(|part| part.start.day());
        let of = |calendar: &CapacityCalendar, day| calendar.get(day).map(|known| Arc::clone(&known.capacity));
        let before: BTreeMap<Day, _> = parts.chain([today]).map(|day| (day, of(&self.calendar, day))).collect();
        let mut changed = self.calendar.observe(span, today, capacity);
        self.changes.capacity_days.extend(&changed);
        changed.retain(|day| before.get(day).is_none_or(|before| *before != of(&self.calendar, *day)));
        self.recapacitate(&changed);
    }

    /// Discards observations of times after `now`. In `downtimes` (ascending, disjoint) nothing was observed.
    pub fn forget_capacities_after(&mut self, now: Timestamp, downtimes: &[TimeSpan]) {
        if self.calendar.forget_after(now, downtimes) {
            self.changes.capacity_days.insert(now.day());
        }
    }

    /// Takes capacities of days from a back-fill. Capacities that the service itself observed stay.
    pub fn give_capacities(&mut self, days: BTreeMap<Day, SlotAmounts>) {
        let mut given = Vec::with_capacity(days.len());
        for (day, capacity) in days {
            if self.calendar.get(day).is_none_or(|c| c.source != CapacitySource::Observed) {
                self.calendar.insert(day, DayCapacity::fixed(CapacitySource::Given, Arc::new(capacity)));
                given.push(day);
            }
        }
        self.changes.capacity_days.extend(&given);
        self.recapacitate(&given);
    }

    /// Updates the buckets that end on one of `days` (ascending) to its capacity.
    fn recapacitate(&mut self, days: &[Day]) {
        let Some(first) = days.first() else { return };
        for (owner, series) in &mut self.series {
            let ends = series.spans().filter(|(_, end)| end >= first && days.binary_search(end).is_ok());
            for (start, end) in ends.collect::<Vec<(Day, Day)>>() {
                let Some(known) = self.calendar.get(end) else { continue };
                if series.capacity_of(start).is_some_and(|(_, capacity)| *capacity != known.capacity) {
                    self.stale.insert(owner.clone());
                    self.changes.upserts.insert((owner.clone(), start));
                }
                series.set_capacity(start, &known.capacity);
            }
        }
    }

    /// True if [`Self::settle_capacities`] has something to do.
    pub fn has_unsettled_capacities(&self) -> bool {
        self.some_lack_capacity || !self.changes.upserts.is_empty()
    }

    /// Gives every changed bucket, and every bucket without a capacity, the capacity of its last day.
    pub fn settle_capacities(&mut self) {
        let mut targets: Vec<(Owner, Day)> = self.changes.upserts.iter().cloned().collect();
        if self.some_lack_capacity {
            for (owner, series) in &self.series {
                targets.extend(series.lacking_capacity().map(|start| (owner.clone(), start)));
            }
        }
        self.some_lack_capacity = false;
        for (owner, start) in targets {
            let Some(series) = self.series.get_mut(&owner) else { continue };
            let Some((end, known)) = series.capacity_of(start) else { continue };
            let Some((capacity, new)) = self.calendar.settle(end) else {
                self.some_lack_capacity = true;
                continue;
            };
            if new {
                self.changes.capacity_days.insert(end);
            }
            if *known != capacity {
                series.set_capacity(start, &capacity);
                self.stale.insert(owner.clone());
                self.changes.upserts.insert((owner, start));
            }
        }
    }

    /// Marks the history of `owner` to be calculated again.
    pub fn doubt(&mut self, owner: Owner) {
        self.stale.insert(owner);
    }

    /// True if [`Self::normalize`] with these weights of slots has nothing to do.
    pub fn is_normalized(&self, resource_weights: &SlotAmounts) -> bool {
        self.stale.is_empty() && !self.some_not_normalized && self.normalized_with == *resource_weights
    }

    /// Computes the normalised usage of every bucket that lacks it, with the decayer's weights of slots. Buckets keep
    /// it, because most never change again. Returns the owners whose buckets have changed since the last call,
    /// ascending.
    pub fn normalize(&mut self, decayer: &HistoryDecayer) -> Vec<Owner> {
        let mut stale: Vec<Owner> = std::mem::take(&mut self.stale).into_iter().collect();
        stale.sort_unstable();
        if self.normalized_with != *decayer.resource_weights() {
            self.series.values_mut().for_each(BucketSeries::forget_normalized);
            self.normalized_with = decayer.resource_weights().clone();
            self.some_not_normalized = true;
        }
        if std::mem::take(&mut self.some_not_normalized) || stale.len() > self.series.len() / EXAMINE_ALL_DIVISOR {
            let mut series: Vec<&mut BucketSeries> = self.series.values_mut().collect();
            parallel::parts_mut(&mut series, |part| {
                let mut normalize = decayer.normalizing();
                for series in part {
                    normalize(series);
                }
            });
        } else {
            let mut normalize = decayer.normalizing();
            for owner in &stale {
                self.series.get_mut(owner).into_iter().for_each(&mut normalize);
            }
        }
        stale
    }

    /// The decayed usage of `owner`. The decayer must have the same weights of slots as in [`Self::normalize`].
    pub fn history(&self, owner: &Owner, decayer: &HistoryDecayer) -> DecayedHistory {
        self.series.get(owner).map_or_else(DecayedHistory::default, |series| decayer.history(series))
    }

    // Most of the time is spent waiting for memory, so the series are prefetched together.
    pub fn normalized_days(&self, decayer: &HistoryDecayer) -> NormalizedDaysByOwner {
        self.series.iter().map(|(owner, series)| (owner.clone(), decayer.normalized_days(series))).collect()
    }
}
