//! Sums up all buckets of a ledger again, day after day.

use super::Ledger;
use crate::bucket::{Bucket, Daily};
use crate::chain::Chain;
use crate::ids::Owner;
use crate::increments::Sums;
use crate::maps::FastMap;
use crate::time::Day;

/// A ledger whose buckets are being summed up again. Days have to arrive in ascending order, so that each finds its
/// bucket.
pub struct Refolding<'a> {
    ledger: &'a mut Ledger,
    unit_days: u32,
    /// The chains before the refolding.
    before: FastMap<Owner, Chain>,
    /// The first day that is summed up again; `None` if all days are.
    from: Option<Day>,
    /// Owners with a bucket that began before `from` and contains usage of later days, with the day on which it closes.
    /// Such a bucket stays, because a part of its usage cannot be read again.
    standing: FastMap<Owner, Day>,
}

impl Ledger {
    /// Removes all buckets that may contain usage of `from` or a later day; `None` removes all buckets.
    pub fn begin_refolding(&mut self, from: Option<Day>, unit_days: u32) -> Refolding<'_> {
        self.has_long_buckets |= unit_days != 1;
        let before = self.chains.clone();
        let mut standing = FastMap::default();
        for (owner, chain) in &mut self.chains {
            let Some(from) = from else {
                *chain = Chain::default();
                continue;
            };
            let crossing = chain.iter().find(|bucket| bucket.start < from && bucket.closes() > from);
            let first = crossing.as_ref().map_or(from, Bucket::closes);
            chain.split_off(first);
            standing.extend(crossing.map(|_| (owner.clone(), first)));
        }
        Refolding { ledger: self, unit_days, before, from, standing }
    }
}

impl Refolding<'_> {
    /// Adds usage of days that are later than all days before.
    pub fn add(&mut self, sums: &Sums) {
        for (day, owner, daily) in sums.by_owner() {
            self.add_day(owner, day, &daily);
        }
    }

    /// Adds the usage of an owner on a day that is later than all of its days before.
    pub fn add_day(&mut self, owner: Owner, day: Day, daily: &Daily) {
        let first = self.standing.get(&owner).copied().or(self.from);
        if first.is_none_or(|first| day >= first) {
            let chain = self.ledger.chains.entry(owner).or_default();
            // Ascending days always find a bucket.
            let _ = chain.add(day, self.unit_days, daily);
        }
    }

    /// Gives all buckets the capacities of their last days, and marks buckets that differ from before to be stored.
    /// Returns the number of these.
    pub fn finish(self) -> u64 {
        let Self { ledger, mut before, .. } = self;
        let Ledger { chains, calendar, changes, some_lack_capacity, .. } = ledger;
        for chain in chains.values_mut() {
            for (start, end) in chain.spans().collect::<Vec<_>>() {
                let Some((capacity, is_new)) = calendar.settle(end) else {
                    *some_lack_capacity = true;
                    continue;
                };
                chain.set_capacity(start, &capacity);
                changes.capacity_days.extend(is_new.then_some(end));
            }
        }
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for (owner, chain) in &mut ledger.chains {
            let old = before.remove(owner).unwrap_or_default();
            if old == *chain {
                // The old chain is kept, because it already has its normalised usages.
                *chain = old;
                continue;
            }
            let differing = chain.iter().filter(|bucket| old.bucket(bucket.start).as_ref() != Some(bucket));
            changed.extend(differing.map(|bucket| (owner.clone(), bucket.start)));
            let starts = old.spans().map(|(start, _)| start);
            gone.extend(starts.filter(|start| chain.capacity_of(*start).is_none()).map(|start| (owner.clone(), start)));
        }
        let count = changed.len() + gone.len();
        for (owner, start) in changed {
            ledger.touch(owner, start);
        }
        for (owner, start) in gone {
            ledger.drop_bucket(owner, start);
        }
        ledger.chains.retain(|_, chain| !chain.is_empty());
        count as u64
    }
}
