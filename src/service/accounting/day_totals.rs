//! Keeps day totals up to date with what runs record and take back. Most totals equal buckets and need no rows. Where
//! it is not certain that the rows contain all other totals, they are computed again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::day_usage::{DayUsageSource, UnsavedUsage};
use super::difference::Difference;
use crate::domain::bucket::Daily;
use crate::domain::day_domains::{DayDomains, Turn};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::increments::Sums;
use crate::domain::ledger::Ledger;
use crate::domain::options::MAX_DECAY_UNIT_DAYS;
use crate::domain::time::Day;
use crate::service::Result;
use crate::service::audit::label;
use crate::service::group::state::GroupState;
use crate::service::group::transaction::GroupTransaction;
use crate::store::day_totals::{self, OfDay, Place, by_buckets};
use crate::store::records::day_sums;
use crate::store::{ConnectionTrait, StreamTrait};

/// The number of days up to today whose totals are kept in memory.
const DAYS_AT_HAND: i32 = 2;

/// Stores the changes of a run to the totals. Totals of the day `recomputed_from` and of later days are computed again. The ledger
/// contains the changes already, and so do the records in the database, but not its buckets.
pub async fn save(
    session: &mut GroupTransaction,
    added: &Sums,
    removed: &Sums,
    recomputed_from: Option<Day>,
) -> Result<()> {
    let days: BTreeSet<Day> = added.days().chain(removed.days()).collect();
    for day in days.into_iter().filter(|day| recomputed_from.is_none_or(|recomputed_from| *day < recomputed_from)) {
        have_at_hand(session, day).await?;
        turn(session, day, added).await?;
        let mut places: Vec<(Member, &Arc<str>)> = added.places(day).chain(removed.places(day)).collect();
        places.sort_unstable();
        places.dedup();
        let GroupState { ledger, day_domains, .. } = session.state();
        places.retain(|(member, _)| {
            !day_domains.are_told_by_buckets(day, member.project) || !ledger.lies_in_one_day(&Owner::User(*member), day)
        });
        if !places.is_empty() {
            let totals = changed(session, day, places, added, removed).await?;
            day_totals::save(session.write(), session.key(), day, &totals).await?;
        }
    }
    if let Some(recomputed_from) = recomputed_from {
        let (tx, state) = session.parts();
        rebuild_from(tx, state, recomputed_from, Some(UnsavedUsage { added, removed })).await?;
    }
    if !session.has_more_steps {
        let at_hand = session.now.day().plus(1 - DAYS_AT_HAND);
        session.state_mut().day_domains.forget_before(at_hand);
    }
    Ok(())
}

/// Notes the projects whose totals become equal to buckets, and stores rows for those whose totals no longer are.
async fn turn(session: &mut GroupTransaction, day: Day, added: &Sums) -> Result<()> {
    let counted = counted(&session.state().ledger, day, added.places(day));
    let (mut begin, mut end) = (by_buckets::Domains::new(), Vec::new());
    for (project, (only, in_buckets)) in counted {
        let turn = session.state_mut().day_domains.count(day, project, only, in_buckets);
        if turn == Turn::Begins {
            begin.extend(only.map(|domain| (project, Arc::clone(domain))));
        } else if turn == Turn::Ends {
            end.push(project);
        }
    }
    let group = session.key();
    if !begin.is_empty() {
        by_buckets::begin(session.write(), group, day, &begin).await?;
    }
    if !end.is_empty() {
        by_buckets::spell_out(session.write(), group, day, &end).await?;
        by_buckets::end(session.write(), group, day, &end).await?;
    }
    Ok(())
}

/// By project: the domain that its usage of a day counts for (`None` if there are several), and true if users have
/// buckets of that day alone.
fn counted<'a>(
    ledger: &Ledger,
    day: Day,
    places: impl Iterator<Item = (Member, &'a Arc<str>)>,
) -> BTreeMap<ProjectId, (Option<&'a Arc<str>>, bool)> {
    let mut counted = BTreeMap::new();
    for (member, domain) in places {
        let (only, in_buckets) = counted.entry(member.project).or_insert((Some(domain), false));
        *only = only.filter(|only| *only == domain);
        *in_buckets = *in_buckets || ledger.lies_in_one_day(&Owner::User(member), day);
    }
    counted
}

/// The rows of some totals after the changes.
async fn changed(
    session: &GroupTransaction,
    day: Day,
    places: Vec<(Member, &Arc<str>)>,
    added: &Sums,
    removed: &Sums,
) -> Result<OfDay> {
    let mut users: Vec<UserId> = places.iter().map(|(member, _)| member.user).collect();
    users.dedup();
    let mut stored = day_totals::rows_of_users(session.read(), session.key(), day, &users).await?;
    let mut totals = OfDay::new();
    for (member, domain) in places {
        let place = (member, Arc::clone(domain));
        let (before, more) = (stored.remove(&place), added.get(day, member, domain));
        // The total is purged, and with it what was taken back of it.
        if before.is_none() && more.is_none() {
            continue;
        }
        let mut daily = before.unwrap_or_default();
        if let Some(more) = more {
            daily.add_records(&more.usage, more.records);
        }
        if let Some(less) = removed.get(day, member, domain) {
            daily.take_back(less);
        }
        totals.insert(place, daily);
    }
    Ok(totals)
}

async fn have_at_hand(session: &mut GroupTransaction, day: Day) -> Result<()> {
    // Another process may have purged days before the first records.
    let may_be_purged = session.state().group.records_from.is_some_and(|from| day < from);
    if may_be_purged || !session.state().day_domains.knows(day) {
        let by_buckets = by_buckets::domains(session.read(), session.key(), day).await?;
        let by_rows = day_totals::projects(session.read(), session.key(), day).await?;
        session.state_mut().day_domains.learn(day, by_buckets, by_rows);
    }
    Ok(())
}

/// Computes the totals of a group that has none yet: from its records, and from buckets for days whose records are
/// purged. This happens before a run, while the stored records and buckets agree.
pub async fn make_missing(session: &mut GroupTransaction) -> Result<()> {
    if session.state().group.day_totals_made {
        return Ok(());
    }
    let (tx, state) = session.parts();
    let records_from = state.group.records_from;
    rebuild(tx, state, records_from).await?;
    if let Some(before) = state.group.records_from {
        make_purged(session, before).await?;
    }
    session.state_mut().group.day_totals_made = true;
    Ok(())
}

/// Computes the totals of `known_from` and later days again (`None`: of all days), from records and from the totals of
/// purged days. Buckets of one day serve as totals, so if buckets get other days, other totals need rows.
pub async fn rebuild(
    db: &(impl ConnectionTrait + StreamTrait),
    state: &mut GroupState,
    known_from: Option<Day>,
) -> Result<()> {
    let first = known_from.unwrap_or(Day::MIN);
    state.load_back_to(db, first.back(MAX_DECAY_UNIT_DAYS)).await?;
    rebuild_from(db, state, first, None).await
}

/// Computes the totals of days from `from` on again. The state has the buckets of these totals; the database may still
/// have the buckets from before a change.
async fn rebuild_from(
    db: &(impl ConnectionTrait + StreamTrait),
    state: &mut GroupState,
    from: Day,
    unsaved: Option<UnsavedUsage<'_>>,
) -> Result<()> {
    let group = state.group.key;
    state.day_domains = DayDomains::default();
    let source = DayUsageSource::of(state).with(unsaved);
    let mut next = source.next_day(db, from).await?;
    while let Some(day) = next.take() {
        let mut should = source.of_day(db, day).await?;
        let domains = domains_of_buckets(&state.ledger, day, &should);
        let known = by_buckets::domains(db, group, day).await?;
        if domains != known {
            by_buckets::end(db, group, day, &known.into_keys().collect::<Vec<_>>()).await?;
            by_buckets::begin(db, group, day, &domains).await?;
        }
        should.retain(|(member, _), _| {
            !domains.contains_key(&member.project) || !state.ledger.lies_in_one_day(&Owner::User(*member), day)
        });
        if should != day_totals::rows_of_day(db, group, day).await? {
            day_totals::replace_day(db, group, day, &should).await?;
        }
        next = source.next_day(db, day.plus(1)).await?;
    }
    Ok(())
}

/// The projects that counted for one domain on a day and have users with a bucket of that day alone.
fn domains_of_buckets(ledger: &Ledger, day: Day, totals: &OfDay) -> by_buckets::Domains {
    let counted = counted(ledger, day, totals.keys().map(|(member, domain)| (*member, domain)));
    let in_buckets = counted.into_iter().filter(|(_, (_, in_buckets))| *in_buckets);
    in_buckets.filter_map(|(project, (only, _))| Some((project, Arc::clone(only?)))).collect()
}

/// Computes the totals of days before `before`, whose records are purged, from buckets. The usage of a bucket of
/// several days goes to the first of them, because its days are not known.
async fn make_purged(session: &GroupTransaction, before: Day) -> Result<()> {
    let (key, mut from) = (session.key(), Day::MIN);
    let mut crossing: BTreeMap<(Day, Day), Vec<(Member, Daily)>> = BTreeMap::new();
    while let Some((start, buckets)) = day_totals::buckets(session.read(), session.group(), from, before).await? {
        let mut totals = OfDay::new();
        for bucket in buckets {
            if bucket.end >= before {
                crossing.entry((start, bucket.end)).or_default().push((bucket.member, bucket.daily));
            } else if let Some(domain) = domain_now(session, bucket.member) {
                totals.insert((bucket.member, domain), bucket.daily);
            }
        }
        day_totals::save(session.write(), key, start, &totals).await?;
        from = start.plus(1);
    }
    for ((start, end), buckets) in crossing {
        let mut rest: BTreeMap<Member, Daily> = buckets.into_iter().collect();
        let mut day = before;
        while day <= end {
            for ((member, _), daily) in day_totals::of_day(session.read(), key, day).await? {
                if let Some(rest) = rest.get_mut(&member) {
                    rest.take_back(&daily);
                }
            }
            day = day.plus(1);
        }
        let placed =
            rest.into_iter().filter_map(|(member, daily)| Some(((member, domain_now(session, member)?), daily)));
        day_totals::save(session.write(), key, start, &placed.collect()).await?;
    }
    Ok(())
}

fn domain_now(session: &GroupTransaction, member: Member) -> Option<Arc<str>> {
    session.people().project(member.project).map(|project| Arc::clone(&project.domain_name))
}

/// The first total of a group that differs from the sum of its records, or is missing in its buckets. The state has all
/// buckets.
pub async fn first_difference(
    db: &impl ConnectionTrait,
    state: &GroupState,
    stored: &Ledger,
) -> Result<Option<Difference>> {
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

fn other_total((day, place): (Day, &Place), is: Option<&Daily>, should: Option<&Daily>) -> Difference {
    let (member, domain) = place;
    let described = |daily: Option<&Daily>| {
        daily.map_or_else(
            || "nothing".to_owned(),
            |daily| format!("{} from {} records", daily.usage.to_json(), daily.records),
        )
    };
    Difference {
        row: format!("day total of {} in {domain} {day}", label(&Owner::User(*member))),
        detail: format!("it holds {}; its records sum to {}", described(is), described(should)),
    }
}

/// The first bucket of a user that differs from the sum of the totals of its days.
async fn other_bucket(db: &impl ConnectionTrait, state: &GroupState, stored: &Ledger) -> Result<Option<Difference>> {
    let group = state.group.key;
    let mut next = day_totals::next_day(db, group, Day::MIN).await?;
    let mut sums: BTreeMap<(Day, Member), Daily> = BTreeMap::new();
    while let Some(day) = next.take() {
        for ((member, _), daily) in day_totals::of_day(db, group, day).await? {
            let start = stored.start_of(&Owner::User(member), day).unwrap_or(day);
            sums.entry((start, member)).or_default().add_records(&daily.usage, daily.records);
        }
        next = day_totals::next_day(db, group, day.plus(1)).await?;
    }
    let buckets = stored.all_series().filter_map(|(owner, series)| match owner {
        Owner::User(member) => Some(series.buckets().iter().map(|bucket| {
            let daily = Daily { usage: bucket.usage.filtered(|usage| !usage.is_zero()), records: bucket.records };
            ((bucket.start, *member), daily)
        })),
        _ => None,
    });
    let buckets: BTreeMap<(Day, Member), Daily> = buckets.flatten().collect();
    // A bucket of several days is purged as a whole, while totals are purged day by day.
    let may_be_purged = |(start, member): &&(Day, Member)| {
        let bucket = stored.bucket(&Owner::User(*member), *start);
        let several = bucket.is_some_and(|bucket| bucket.end > bucket.start);
        several && state.group.records_from.is_some_and(|from| *start < from)
    };
    let rows = sums.keys().chain(buckets.keys()).filter(|row| !may_be_purged(row));
    let differs = rows.filter(|row| sums.get(*row) != buckets.get(*row)).min();
    Ok(differs.map(|row| {
        let usage =
            |of: &BTreeMap<_, Daily>| of.get(row).map_or_else(|| "nothing".to_owned(), |daily| daily.usage.to_json());
        Difference {
            row: format!("{} {}", label(&Owner::User(row.1)), row.0),
            detail: format!("the bucket holds {}; its day totals sum to {}", usage(&buckets), usage(&sums)),
        }
    }))
}
