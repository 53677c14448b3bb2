//! Day totals follow what runs record and take back. Where it is not certain that they have all of it, they are made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::Arc;

use super::difference::Difference;
use crate::domain::bucket::Daily;
use crate::domain::day_domains::DayDomains;
use crate::domain::ids::{GroupKey, Member, Owner, UserId};
use crate::domain::increments::Sums;
use crate::domain::ledger::Ledger;
use crate::domain::time::{Day, Timestamp};
use crate::service::Result;
use crate::service::audit::label;
use crate::service::group::session::Session;
use crate::service::group::state::GroupState;
use crate::store::day_totals::{self, OfDay, Place};
use crate::store::records::{day_sums, ranges};
use crate::store::{ConnectionTrait, StreamTrait, Tx};

/// Days up to today that are at hand.
const DAYS_AT_HAND: i32 = 2;

/// The totals that a run stores of what it has recorded and taken back. Its buckets have it already.
pub struct Totals<'a> {
    key: GroupKey,
    added: &'a Sums,
    removed: &'a Sums,
    /// Whose totals are to be stored, by day.
    places: BTreeMap<Day, Vec<(Member, &'a Arc<str>)>>,
}

impl<'a> Totals<'a> {
    pub async fn of(session: &mut Session, added: &'a Sums, removed: &'a Sums) -> Result<Self> {
        let days: BTreeSet<Day> = added.days().chain(removed.days()).collect();
        let mut places = BTreeMap::new();
        for day in days {
            have_at_hand(session, day).await?;
            // Also what comes with this run: a project may count in two domains in one.
            let known = &mut session.state_mut().day_domains;
            let mut of_day: Vec<(Member, &Arc<str>)> = added.places(day).chain(removed.places(day)).collect();
            for (member, domain) in &of_day {
                known.note(day, member.project, domain);
            }
            of_day.sort_unstable();
            of_day.dedup();
            places.insert(day, of_day);
        }
        Ok(Self { key: session.key(), added, removed, places })
    }

    /// Stores the totals that buckets tell.
    pub async fn save_known(&mut self, tx: &Tx, ledger: &Ledger, known: &DayDomains) -> Result<()> {
        for (day, places) in &mut self.places {
            let mut rest = Vec::new();
            let totals = take(places).into_iter().filter_map(|(member, domain)| {
                let is_only = known.is_only(*day, member.project, domain);
                let daily = ledger.of_one_day(&Owner::User(member), *day).filter(|_| is_only);
                if daily.is_none() {
                    rest.push((member, domain));
                }
                daily.map(|daily| (member, domain, daily))
            });
            day_totals::put(tx, self.key, *day, totals).await?;
            *places = rest;
        }
        Ok(())
    }

    /// Stores the others.
    pub async fn save_rest(self, session: &Session) -> Result<()> {
        for (day, places) in self.places.into_iter().filter(|(_, places)| !places.is_empty()) {
            let totals = changed(session, day, places, self.added, self.removed).await?;
            day_totals::save(session.write(), self.key, day, &totals).await?;
        }
        Ok(())
    }
}

/// What the stored totals of some places are after the changes.
async fn changed(
    session: &Session,
    day: Day,
    places: Vec<(Member, &Arc<str>)>,
    added: &Sums,
    removed: &Sums,
) -> Result<OfDay> {
    let mut users: Vec<UserId> = places.iter().map(|(member, _)| member.user).collect();
    users.dedup();
    let mut stored = day_totals::of_users(session.read(), session.key(), day, &users).await?;
    let mut totals = OfDay::new();
    for (member, domain) in places {
        let place = (member, Arc::clone(domain));
        let (before, more) = (stored.remove(&place), added.get(day, member, domain));
        // What was taken back of a total that is purged is gone already.
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

async fn have_at_hand(session: &mut Session, day: Day) -> Result<()> {
    let first = session.now.day().plus(1 - DAYS_AT_HAND);
    session.state_mut().day_domains.forget_before(first);
    if day >= first && !session.state().day_domains.knows(day) {
        let rows = day_totals::domains(session.read(), session.key(), day).await?;
        session.state_mut().day_domains.learn(day, rows);
    }
    Ok(())
}

/// Makes the totals of a group that has none yet: from its records, and from its buckets for days of which records are purged.
/// This comes before a run, while what is stored of both belongs together.
pub async fn make_missing(session: &mut Session) -> Result<()> {
    if session.state().group.day_totals_made {
        return Ok(());
    }
    let (tx, state) = session.parts();
    rebuild(tx, state).await?;
    if let Some(before) = state.group.records_from {
        make_purged(session, before).await?;
    }
    session.state_mut().group.day_totals_made = true;
    Ok(())
}

/// Makes the totals of all days again of which there are records.
pub async fn rebuild(db: &(impl ConnectionTrait + StreamTrait), state: &mut GroupState) -> Result<()> {
    let group = state.group.key;
    state.day_domains = DayDomains::default();
    let mut next = days(db, state).await?;
    while let Some(day) = next.take() {
        let mut should = day_sums::of_day(db, group, day).await?;
        for (place, is) in day_totals::of_day(db, group, day).await? {
            if should.get(&place) == Some(&is) {
                should.remove(&place);
            } else {
                should.entry(place).or_default();
            }
        }
        day_totals::save(db, group, day, &should).await?;
        next = next_day(db, state, day.plus(1)).await?;
    }
    Ok(())
}

/// The first day that has records, or totals that follow from records.
async fn days(db: &impl ConnectionTrait, state: &GroupState) -> Result<Option<Day>> {
    next_day(db, state, state.group.records_from.unwrap_or(Day::MIN)).await
}

async fn next_day(db: &impl ConnectionTrait, state: &GroupState, from: Day) -> Result<Option<Day>> {
    let group = state.group.key;
    let with_records = ranges::first_end_from(db, group, from.start().plus_micros(1)).await?.map(Timestamp::day_ending);
    let with_totals = day_totals::next_day(db, group, from).await?;
    Ok(with_records.into_iter().chain(with_totals).min())
}

/// Makes the totals of days before `before`, whose records are purged, from buckets. What lies in a bucket of several days is
/// put on the first of them: it is not known better.
async fn make_purged(session: &Session, before: Day) -> Result<()> {
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

fn domain_now(session: &Session, member: Member) -> Option<Arc<str>> {
    session.people().project(member.project).map(|project| Arc::clone(&project.domain_name))
}

/// The first total of a group that is not what its records sum to, or that its buckets do not have. The state has all buckets.
pub async fn first_difference(
    db: &impl ConnectionTrait,
    state: &GroupState,
    stored: &Ledger,
) -> Result<Option<Difference>> {
    let group = state.group.key;
    if !state.group.day_totals_made {
        return Ok(None);
    }
    let mut next = days(db, state).await?;
    while let Some(day) = next.take() {
        let (should, is) = (day_sums::of_day(db, group, day).await?, day_totals::of_day(db, group, day).await?);
        let places = should.keys().chain(is.keys());
        if let Some(place) = places.filter(|place| should.get(*place) != is.get(*place)).min() {
            return Ok(Some(other_total((day, place), is.get(place), should.get(place))));
        }
        next = next_day(db, state, day.plus(1)).await?;
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
        detail: format!("the row holds {}; its records sum to {}", described(is), described(should)),
    }
}

/// The first bucket of a user that is not the sum of the totals of its days.
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
    let buckets = stored.chains().filter_map(|(owner, chain)| match owner {
        Owner::User(member) => Some(chain.iter().map(|bucket| {
            let daily = Daily { usage: bucket.usage.filtered(|usage| !usage.is_zero()), records: bucket.records };
            ((bucket.start, *member), daily)
        })),
        _ => None,
    });
    let buckets: BTreeMap<(Day, Member), Daily> = buckets.flatten().collect();
    // A bucket of several days is purged as a whole, and totals are purged day by day.
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
