//! Keeps day totals up to date with what runs record and take back, and proves that they are the sums of records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::day_usage::{DayUsageSource, UnsavedUsage};
use super::difference::UsageDifference;
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{Member, Owner, UserId};
use crate::domain::increments::IncrementSums;
use crate::domain::ledger::Ledger;
use crate::domain::time::Day;
use crate::domain::usage_dimensions::UsageDimensions;
use crate::engine::audit::label;
use crate::engine::error::Result;
use crate::engine::group::state::GroupState;
use crate::engine::group::transaction::GroupTransaction;
use crate::store::ConnectionTrait;
use crate::store::day_totals::{self, MemberDomain, OfDay};
use crate::store::records::day_sums;

/// Stores the changes of a run to the totals.
pub async fn save(session: &GroupTransaction, added: &IncrementSums, removed: &IncrementSums) -> Result<()> {
    let days: BTreeSet<Day> = added.days().chain(removed.days()).collect();
    for day in days {
        let touched: BTreeSet<MemberDomain> = (added.places(day).chain(removed.places(day)))
            .map(|(member, dimensions)| (member, dimensions.clone()))
            .collect();
        let mut users: Vec<UserId> = touched.iter().map(|(member, _)| member.user).collect();
        users.dedup();
        let mut totals = day_totals::of_users(session.read(), session.key(), day, &users).await?;
        totals.retain(|place, _| touched.contains(place));
        UnsavedUsage { added, removed }.apply(day, &mut totals);
        day_totals::save(session.write(), session.key(), day, &totals).await?;
    }
    Ok(())
}

/// Computes the totals of a group that has none yet: from its records, and from buckets for days whose records are
/// purged. This happens before a run, while the stored records and buckets agree.
pub async fn backfill(session: &mut GroupTransaction) -> Result<()> {
    if session.state().group.day_totals_made {
        return Ok(());
    }
    let records_from = session.state().group.records_from;
    rebuild(session.write(), session.state()).await?;
    if let Some(before) = records_from {
        make_purged(session, before).await?;
    }
    session.state_mut().group.day_totals_made = true;
    Ok(())
}

/// Computes the totals of all days again whose records are not purged.
pub async fn rebuild(db: &impl ConnectionTrait, state: &GroupState) -> Result<()> {
    let (group, source) = (state.group.key, DayUsageSource::of(state));
    let mut next = source.next_day(db, state.group.records_from.unwrap_or(Day::MIN)).await?;
    while let Some(day) = next.take() {
        let should = day_sums::of_day(db, group, day).await?;
        if should != day_totals::of_day(db, group, day).await? {
            day_totals::replace_day(db, group, day, &should).await?;
        }
        next = source.next_day(db, day.plus(1)).await?;
    }
    Ok(())
}

/// Computes the totals of days before `before`, whose records are purged, from buckets. The usage of a bucket of
/// several days goes to the first of them, because its days are not known, and neither is its charge class.
async fn make_purged(session: &GroupTransaction, before: Day) -> Result<()> {
    let (key, mut from) = (session.key(), Day::MIN);
    let mut crossing: BTreeMap<(Day, Day), Vec<(Member, DayUsage)>> = BTreeMap::new();
    while let Some((start, buckets)) = day_totals::buckets(session.read(), session.group(), from, before).await? {
        let mut totals = OfDay::new();
        for bucket in buckets {
            if bucket.end >= before {
                crossing.entry((start, bucket.end)).or_default().push((bucket.member, bucket.daily));
            } else if let Some(place) = place_now(session, bucket.member) {
                totals.insert(place, bucket.daily);
            }
        }
        day_totals::save(session.write(), key, start, &totals).await?;
        from = start.plus(1);
    }
    for ((start, end), buckets) in crossing {
        let mut rest: BTreeMap<Member, DayUsage> = buckets.into_iter().collect();
        let mut day = before;
        while day <= end {
            for ((member, _), daily) in day_totals::of_day(session.read(), key, day).await? {
                if let Some(rest) = rest.get_mut(&member) {
                    rest.take_back(&daily);
                }
            }
            day = day.plus(1);
        }
        let placed = rest.into_iter().filter_map(|(member, daily)| Some((place_now(session, member)?, daily)));
        day_totals::save(session.write(), key, start, &placed.collect()).await?;
    }
    Ok(())
}

fn place_now(session: &GroupTransaction, member: Member) -> Option<MemberDomain> {
    let people = session.people();
    let domain = Arc::clone(&people.project(member.project)?.domain_name);
    Some((member, UsageDimensions::of_domain(domain)))
}

/// The first total of a group that differs from the sum of its records, or is missing in its buckets. The state has all
/// buckets.
pub async fn first_difference(
    db: &impl ConnectionTrait,
    state: &GroupState,
    stored: &Ledger,
) -> Result<Option<UsageDifference>> {
    let group = state.group.key;
    if !state.group.day_totals_made {
        return Ok(None);
    }
    let source = DayUsageSource::of(state);
    let mut next = source.next_day(db, state.group.records_from.unwrap_or(Day::MIN)).await?;
    while let Some(day) = next.take() {
        let (should, is) = (day_sums::of_day(db, group, day).await?, day_totals::of_day(db, group, day).await?);
        let places = should.keys().chain(is.keys());
        if let Some(place) = places.filter(|place| should.get(*place) != is.get(*place)).min() {
            return Ok(Some(other_total((day, place), is.get(place), should.get(place))));
        }
        next = source.next_day(db, day.plus(1)).await?;
    }
    other_bucket(db, state, stored).await
}

fn other_total(
    (day, place): (Day, &MemberDomain),
    is: Option<&DayUsage>,
    should: Option<&DayUsage>,
) -> UsageDifference {
    let (member, UsageDimensions { domain, charge_class }) = place;
    let class = if charge_class.is_empty() { String::new() } else { format!(" with the class {charge_class}") };
    let described = |daily: Option<&DayUsage>| {
        daily.map_or_else(
            || "nothing".to_owned(),
            |daily| format!("{} from {} records", daily.usage.to_json(), daily.records),
        )
    };
    UsageDifference {
        row: format!("day total of {} in {domain}{class} {day}", label(&Owner::User(*member))),
        detail: format!("it holds {}; its records sum to {}", described(is), described(should)),
    }
}

/// The first bucket of a user that differs from the sum of the totals of its days.
async fn other_bucket(
    db: &impl ConnectionTrait,
    state: &GroupState,
    stored: &Ledger,
) -> Result<Option<UsageDifference>> {
    let group = state.group.key;
    let mut next = day_totals::next_day(db, group, Day::MIN).await?;
    let mut sums: BTreeMap<(Day, Member), DayUsage> = BTreeMap::new();
    while let Some(day) = next.take() {
        for ((member, _), daily) in day_totals::of_day(db, group, day).await? {
            let start = stored.start_of(&Owner::User(member), day).unwrap_or(day);
            sums.entry((start, member)).or_default().add_records(&daily.usage, daily.records);
        }
        next = day_totals::next_day(db, group, day.plus(1)).await?;
    }
    let buckets = stored.all_series().filter_map(|(owner, series)| match owner {
        Owner::User(member) => Some(series.buckets().iter().map(|bucket| {
            let daily = DayUsage { usage: bucket.usage.filtered(|usage| !usage.is_zero()), records: bucket.records };
            ((bucket.start, *member), daily)
        })),
        _ => None,
    });
    let buckets: BTreeMap<(Day, Member), DayUsage> = buckets.flatten().collect();
    // A bucket of several days is purged as a whole, while totals are purged day by day.
    let may_be_purged = |(start, member): &&(Day, Member)| {
        let bucket = stored.bucket(&Owner::User(*member), *start);
        let several = bucket.is_some_and(|bucket| bucket.end > bucket.start);
        several && state.group.records_from.is_some_and(|from| *start < from)
    };
    let rows = sums.keys().chain(buckets.keys()).filter(|row| !may_be_purged(row));
    let differs = rows.filter(|row| sums.get(*row) != buckets.get(*row)).min();
    Ok(differs.map(|row| {
        let usage = |of: &BTreeMap<_, DayUsage>| {
            of.get(row).map_or_else(|| "nothing".to_owned(), |daily| daily.usage.to_json())
        };
        UsageDifference {
            row: format!("{} {}", label(&Owner::User(row.1)), row.0),
            detail: format!("the bucket holds {}; its day totals sum to {}", usage(&buckets), usage(&sums)),
        }
    }))
}
