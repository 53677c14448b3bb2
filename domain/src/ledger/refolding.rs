//! All buckets of a ledger summed again, day after day.

use super::Ledger;
use crate::bucket::{Bucket, Daily};
use crate::chain::Chain;
use crate::ids::Owner;
use crate::increments::Sums;
use crate::maps::FastMap;
use crate::time::Day;

/// A ledger whose buckets are being summed again. Days have to come in ascending order, so that each finds its place.
pub struct Refolding<'a> {
    ledger: &'a mut Ledger,
    unit_days: u32,
    /// The chains as they were.
    before: FastMap<Owner, Chain>,
    /// The first day that is summed again; `None`: all days are.
    from: Option<Day>,
    /// Owners with a bucket that began before `from` and holds usage of later days, with the day on which it closes. Such a
    /// bucket stands, because a part of what it holds cannot be read again.
    standing: FastMap<Owner, Day>,
}

impl Ledger {
    /// Takes out all buckets that may hold usage of `from` or a later day; `None`: all buckets.
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
    /// Adds usage of days that follow all days before.
    pub fn add(&mut self, sums: &Sums) {
        for (day, owner, daily) in sums.by_owner() {
            self.add_day(owner, day, &daily);
        }
    }

    /// Adds what an owner used on a day that follows all of its days before.
    pub fn add_day(&mut self, owner: Owner, day: Day, daily: &Daily) {
        let first = self.standing.get(&owner).copied().or(self.from);
        if first.is_none_or(|first| day >= first) {
            let chain = self.ledger.chains.entry(owner).or_default();
            // Ascending days always find a place.
            let _ = chain.add(day, self.unit_days, daily);
        }
    }

    /// Gives all buckets the capacities of their last days. Those that differ from before have to be stored. Returns how many
    /// differ.
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
                // The old chain knows its usages over capacity already.
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
