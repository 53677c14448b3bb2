//! The usage of one day: the sum of its records or, if these are purged, its day total. Day totals are kept for
//! `keep_buckets_days`, far longer than records, so that buckets can be summed up again after a purge.

use crate::domain::ids::GroupKey;
use crate::domain::increments::{IncrementSums, UsageIncrements};
use crate::domain::time::{Day, Timestamp};
use crate::engine::error::Result;
use crate::engine::group::state::GroupState;
use crate::store::ConnectionTrait;
use crate::store::day_totals::{self, OfDay};
use crate::store::records::{day_sums, ranges};

/// Usage that a run has recorded and taken back. The database has the records already, but not the day totals.
#[derive(Clone, Copy)]
pub struct UnsavedUsage<'a> {
    pub added: &'a IncrementSums,
    pub removed: &'a IncrementSums,
}

impl UnsavedUsage<'_> {
    /// Changes the totals of a day by what the run has recorded and taken back on it.
    pub fn apply(&self, day: Day, totals: &mut OfDay) {
        for (member, dimensions) in self.added.places(day) {
            if let Some(more) = self.added.get(day, member, dimensions) {
                totals.entry((member, dimensions.clone())).or_default().add_records(&more.usage, more.records);
            }
        }
        for (member, dimensions) in self.removed.places(day) {
            // The total is purged, and with it what was taken back of it.
            let sum = totals.get_mut(&(member, dimensions.clone()));
            if let Some((sum, less)) = sum.zip(self.removed.get(day, member, dimensions)) {
                sum.take_back(less);
            }
        }
    }
}

/// A source of the usage of single days of a group.
pub struct DayUsageSource<'a> {
    group: GroupKey,
    /// The day before which only totals are left; `None` if all days have their records.
    totals_before: Option<Day>,
    unsaved: Option<UnsavedUsage<'a>>,
}

impl DayUsageSource<'_> {
    pub fn of(state: &GroupState) -> Self {
        let totals_before = state.group.records_from.filter(|_| state.group.day_totals_made);
        Self { group: state.group.key, totals_before, unsaved: None }
    }
}

impl<'a> DayUsageSource<'a> {
    /// The same source, including usage that a run has not saved yet.
    #[must_use]
    pub fn with(self, unsaved: Option<UnsavedUsage<'a>>) -> Self {
        Self { unsaved, ..self }
    }

    /// True if the usage of `day` is known only from totals, because its records are purged.
    pub fn has_only_totals(&self, day: Day) -> bool {
        self.totals_before.is_some_and(|before| day < before)
    }

    /// The usage of a day by member and dimensions.
    pub async fn of_day(&self, db: &impl ConnectionTrait, day: Day) -> Result<OfDay> {
        if !self.has_only_totals(day) {
            return Ok(day_sums::of_day(db, self.group, day).await?);
        }
        let mut totals = day_totals::of_day(db, self.group, day).await?;
        if let Some(unsaved) = self.unsaved {
            unsaved.apply(day, &mut totals);
            totals.retain(|_, daily| !daily.is_nothing());
        }
        Ok(totals)
    }

    /// The usage of a day by owner of each tier.
    pub async fn sums_of_day(&self, db: &impl ConnectionTrait, day: Day) -> Result<IncrementSums> {
        let mut sums = UsageIncrements::default();
        for ((member, dimensions), daily) in self.of_day(db, day).await? {
            sums.add_daily(member, &dimensions, day, &daily);
        }
        Ok(sums.into_sums())
    }

    /// The first day from `from` on that has records, a total, or usage that is not saved yet.
    pub async fn next_day(&self, db: &impl ConnectionTrait, from: Day) -> Result<Option<Day>> {
        let after = from.start().plus_micros(1);
        let with_records = ranges::first_end_from(db, self.group, after).await?.map(Timestamp::day_ending);
        let with_totals = day_totals::next_day(db, self.group, from).await?;
        let not_saved = self.unsaved.and_then(|unsaved| unsaved.added.days().find(|day| *day >= from));
        Ok(with_records.into_iter().chain(with_totals).chain(not_saved).min())
    }

    /// The first day from `from` on of which only the total is left.
    pub async fn next_with_only_total(&self, db: &impl ConnectionTrait, from: Day) -> Result<Option<Day>> {
        if !self.has_only_totals(from) {
            return Ok(None);
        }
        Ok(self.next_day(db, from).await?.filter(|day| self.has_only_totals(*day)))
    }
}
