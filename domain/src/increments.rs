//! New usage, summed before it is added to buckets.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::IndexMap;

use super::bucket::DayUsage;
use super::ids::{Member, Owner};
use super::slots::SlotUsages;
use super::time::Day;
use super::usage_dimensions::UsageDimensions;

/// The day, the member and the dimensions of usage.
type IncrementKey = (Day, Member, UsageDimensions);

/// A map that keeps the order of insertion.
type IncrementMap<K> = IndexMap<K, DayUsage, FixedState>;

/// New usage in the order in which it arrives.
#[derive(Clone, Debug, Default)]
pub struct UsageIncrements(IncrementMap<IncrementKey>);

impl UsageIncrements {
    /// Adds one record of one member.
    pub fn add(&mut self, member: Member, dimensions: &UsageDimensions, day: Day, usage: &SlotUsages) {
        self.0.entry((day, member, dimensions.clone())).or_default().add(usage);
    }

    /// Adds the sum of several records, or a part of one record.
    pub fn add_daily(&mut self, member: Member, dimensions: &UsageDimensions, day: Day, daily: &DayUsage) {
        self.0.entry((day, member, dimensions.clone())).or_default().add_records(&daily.usage, daily.records);
    }

    /// The number of sums.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn into_sums(self) -> IncrementSums {
        let mut sums: Vec<(IncrementKey, DayUsage)> = self.0.into_iter().collect();
        sums.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        IncrementSums(sums)
    }
}

/// The sums of new usage, ordered by day, member and dimensions.
#[derive(Debug, Default)]
pub struct IncrementSums(Vec<(IncrementKey, DayUsage)>);

impl IncrementSums {
    /// The days with usage, ascending.
    pub fn days(&self) -> impl Iterator<Item = Day> {
        self.0.chunk_by(|((day, ..), _), ((other, ..), _)| day == other).map(|of_day| of_day[0].0.0)
    }

    /// The members with usage on a day, and its dimensions, in this order.
    pub fn places(&self, day: Day) -> impl Iterator<Item = (Member, &UsageDimensions)> {
        let (from, to) =
            (self.0.partition_point(|((d, ..), _)| *d < day), self.0.partition_point(|((d, ..), _)| *d <= day));
        self.0[from..to].iter().map(|((_, member, dimensions), _)| (*member, dimensions))
    }

    pub fn get(&self, day: Day, member: Member, dimensions: &UsageDimensions) -> Option<&DayUsage> {
        let at = self.0.binary_search_by(|((d, m, of), _)| (d, m, of).cmp(&(&day, &member, dimensions))).ok()?;
        Some(&self.0[at].1)
    }

    /// The usage by owner of each tier. The days of each owner ascend.
    pub fn by_owner(&self) -> impl Iterator<Item = (Day, Owner, Cow<'_, DayUsage>)> {
        let mut above = IncrementMap::<(Day, Owner)>::default();
        for ((day, member, dimensions), daily) in &self.0 {
            for owner in [Owner::Project(member.project), Owner::Domain(Arc::clone(&dimensions.domain))] {
                above.entry((*day, owner)).or_default().add_records(&daily.usage, daily.records);
            }
        }
        let above = above.into_iter().map(|((day, owner), daily)| (day, owner, Cow::Owned(daily)));
        let is_same = |one: &(IncrementKey, DayUsage), other: &(IncrementKey, DayUsage)| {
            (one.0.0, one.0.1) == (other.0.0, other.0.1)
        };
        let users = self.0.chunk_by(is_same).map(|of_member| {
            let ((day, member, _), daily) = &of_member[0];
            let mut daily = Cow::Borrowed(daily);
            for (_, more) in &of_member[1..] {
                daily.to_mut().add_records(&more.usage, more.records);
            }
            (*day, Owner::User(*member), daily)
        });
        above.chain(users)
    }
}
