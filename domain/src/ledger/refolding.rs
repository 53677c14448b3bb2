//! Sums up all buckets of a ledger again, day after day.

use super::Ledger;
use crate::bucket::{Bucket, DayUsage};
use crate::bucket_series::BucketSeries;
use crate::ids::Owner;
use crate::increments::IncrementSums;
use crate::maps::FastMap;
use crate::time::Day;

/// A ledger whose buckets are being summed up again. Days have to arrive in ascending order, so that each finds its
/// bucket.
pub struct BucketRefold<'a> {
    ledger: &'a mut Ledger,
    unit_days: u32,
    /// The series before the refolding.
    before: FastMap<Owner, BucketSeries>,
    /// The first day that is summed up again; `None` if all days are.
    from: Option<Day>,
    /// Owners with a bucket that began before `from` and contains usage of later days, with the day on which it closes.
    /// Such a bucket stays, because a part of its usage cannot be read again.
    standing: FastMap<Owner, Day>,
}

impl Ledger {
    /// Removes all buckets that may contain usage of `from` or a later day; `None` removes all buckets.
    pub fn begin_refolding(&mut self, from: Option<Day>, unit_days: u32) -> BucketRefold<'_> {
        let before = self.series.clone();
        let mut standing = FastMap::default();
        for (owner, series) in &mut self.series {
            let Some(from) = from else {
                *series = BucketSeries::default();
                continue;
            };
            let crossing = series.buckets().iter().find(|bucket| bucket.start < from && bucket.closes() > from);
            let closes = crossing.map(Bucket::closes);
            series.split_off(closes.unwrap_or(from));
            standing.extend(closes.map(|closes| (owner.clone(), closes)));
        }
        BucketRefold { ledger: self, unit_days, before, from, standing }
    }
}

impl BucketRefold<'_> {
    /// Adds usage of days that are later than all days before.
    pub fn add(&mut self, sums: &IncrementSums) {
        for (day, owner, daily) in sums.by_owner() {
            self.add_day(owner, day, &daily);
        }
    }

    /// Adds the usage of an owner on a day that is later than all of its days before.
    pub fn add_day(&mut self, owner: Owner, day: Day, daily: &DayUsage) {
        let first = self.standing.get(&owner).copied().or(self.from);
        if first.is_none_or(|first| day >= first) {
            let series = self.ledger.series.entry(owner).or_default();
            // Ascending days always find a bucket.
            let _ = series.add(day, self.unit_days, daily);
        }
    }

    /// Gives all buckets the capacities of their last days, and marks buckets that differ from before to be stored.
    /// Returns the number of these.
    pub fn finish(self) -> u64 {
        let Self { ledger, mut before, .. } = self;
        let Ledger { series, calendar, changes, some_lack_capacity, .. } = ledger;
        for series in series.values_mut() {
            for (start, end) in series.spans().collect::<Vec<_>>() {
                let Some((capacity, is_new)) = calendar.settle(end) else {
                    *some_lack_capacity = true;
                    continue;
                };
                series.set_capacity(start, &capacity);
                changes.capacity_days.extend(is_new.then_some(end));
            }
        }
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for (owner, series) in &mut ledger.series {
            let old = before.remove(owner).unwrap_or_default();
            if old.buckets() == series.buckets() {
                // The old series is kept, because it already has its normalised usages.
                *series = old;
                continue;
            }
            let differing = series.buckets().iter().filter(|bucket| old.bucket(bucket.start) != Some(*bucket));
            changed.extend(differing.map(|bucket| (owner.clone(), bucket.start)));
            let starts = old.spans().map(|(start, _)| start);
            gone.extend(
                starts.filter(|start| series.capacity_of(*start).is_none()).map(|start| (owner.clone(), start)),
            );
        }
        let count = changed.len() + gone.len();
        for (owner, start) in changed {
            ledger.touch(owner, start);
        }
        for (owner, start) in gone {
            ledger.drop_bucket(owner, start);
        }
        ledger.series.retain(|_, series| !series.is_empty());
        count as u64
    }
}
