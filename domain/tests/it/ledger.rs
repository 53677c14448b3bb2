//! All tiers of a group together (FAIR_SHARE §5): usage is conserved, and a rebuild from records equals the live result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::bucket::{Bucket, DayUsage};
use domain::capacity::{CapacityCalendar, CapacitySource, DayCapacity};
use domain::factor::{DecayedHistory, HistoryDecayer};
use domain::ids::{Member, Owner};
use domain::increments::{IncrementSums, UsageIncrements};
use domain::ledger::Ledger;
use domain::options::FairShareOptions;
use domain::slots::{SlotAmounts, SlotUsages};
use domain::time::Day;
use domain::usage_dimensions::UsageDimensions;
use proptest::prelude::*;

use crate::support::{amounts, cases, day, member, usages};

#[derive(Clone, Debug)]
struct Record {
    member: Member,
    domain: Arc<str>,
    day: Day,
    usage: SlotUsages,
}

fn sums<'a>(records: impl IntoIterator<Item = &'a Record>) -> IncrementSums {
    let mut increments = UsageIncrements::default();
    for (at, record) in records.into_iter().enumerate() {
        // Buckets sum over charge classes.
        let charge_class = Arc::from(["", "high"][at % 2]);
        let dimensions = UsageDimensions { domain: Arc::clone(&record.domain), charge_class };
        increments.add(record.member, &dimensions, record.day, &record.usage);
    }
    increments.into_sums()
}

fn owners(record: &Record) -> [Owner; 3] {
    let Record { member, domain, .. } = record;
    [Owner::User(*member), Owner::Project(member.project), Owner::Domain(Arc::clone(domain))]
}

/// The whole usage of one entity by day, straight from the records.
fn by_day(records: &[Record], entity: &Owner) -> BTreeMap<Day, DayUsage> {
    let mut days = BTreeMap::<Day, DayUsage>::new();
    for record in records.iter().filter(|record| owners(record).contains(entity)) {
        days.entry(record.day).or_default().add(&record.usage);
    }
    days
}

type Buckets = BTreeMap<(Owner, Day), Bucket>;

fn buckets(ledger: &Ledger) -> Buckets {
    let rows = ledger
        .all_series()
        .flat_map(|(entity, series)| series.buckets().iter().map(|b| ((entity.clone(), b.start), b.clone())));
    rows.collect()
}

fn calendar() -> CapacityCalendar {
    let mut calendar = CapacityCalendar::default();
    for (day, cores) in [(20_410, "64"), (20_430, "80"), (20_431, "12.5")] {
        let offered = Arc::new(amounts(&[("cpu", cores), ("cuda.device", "4")]));
        calendar.insert(Day(day), DayCapacity::fixed(CapacitySource::Given, offered));
    }
    calendar
}

/// Does the same as a run with new records: places them, folds again those that cannot be placed, and settles capacities.
fn take(ledger: &mut Ledger, known: &mut Vec<Record>, batch: &[Record], unit: u32) {
    known.extend_from_slice(batch);
    for (entity, day) in ledger.apply(&sums(batch), unit, None) {
        let from = ledger.refold_from(&entity, day);
        ledger.refold(&entity, from, unit, &by_day(known, &entity));
    }
    ledger.settle_capacities();
}

fn rebuilt(records: &[Record], calendar: &CapacityCalendar, unit: u32) -> Buckets {
    let mut ledger = Ledger::new(calendar.clone(), Day::MIN);
    for entity in records.iter().flat_map(owners).collect::<BTreeSet<_>>() {
        ledger.refold(&entity, Day::MIN, unit, &by_day(records, &entity));
    }
    ledger.settle_capacities();
    buckets(&ledger)
}

fn tier(entity: &Owner) -> usize {
    match entity {
        Owner::Domain(_) => 0,
        Owner::Project(_) => 1,
        Owner::User(_) => 2,
    }
}

#[test]
fn a_user_in_two_projects_and_two_users_in_one() {
    let research: Arc<str> = "research".into();
    let record = |user, project, seconds: &str| Record {
        member: member(user, project),
        domain: Arc::clone(&research),
        day: day("2026-01-13"),
        usage: usages(&[("cpu", seconds)]),
    };
    let records = [record(1, 1, "10"), record(1, 2, "20"), record(2, 1, "40")];
    let mut ledger = Ledger::new(calendar(), Day::MIN);
    take(&mut ledger, &mut Vec::new(), &records, 1);
    for (entity, seconds, count) in [
        (Owner::User(member(1, 1)), "10", 1),
        (Owner::User(member(1, 2)), "20", 1),
        (Owner::User(member(2, 1)), "40", 1),
        (Owner::Project(member(1, 1).project), "50", 2),
        (Owner::Project(member(1, 2).project), "20", 1),
        (Owner::Domain(Arc::clone(&research)), "70", 3),
    ] {
        let bucket = ledger.bucket(&entity, day("2026-01-13")).expect("a bucket");
        assert_eq!((bucket.usage.clone(), bucket.records), (usages(&[("cpu", seconds)]), count), "{entity:?}");
    }
}

#[test]
fn the_window_opens_on_the_oldest_day_that_counts() {
    let start = FairShareOptions::default().window_start(day("2026-01-28"));
    assert_eq!(start, day("2026-01-01"));
    let today_only = FairShareOptions { lookback_days: 1, ..FairShareOptions::default() };
    assert_eq!(today_only.window_start(day("2026-01-28")), day("2026-01-28"));
}

#[test]
fn a_late_day_whose_records_are_gone_gets_a_short_bucket() {
    let record = |day| Record { member: member(1, 1), domain: "d".into(), day, usage: usages(&[("cpu", "1")]) };
    let entity = Owner::User(member(1, 1));
    let spans = |ledger: &Ledger| -> Vec<(Day, u32)> {
        ledger.buckets(&entity).iter().map(|b| (b.start, b.unit_days)).collect()
    };
    let mut ledger = Ledger::new(calendar(), Day::MIN);
    ledger.apply(&sums(&[record(Day(20_420))]), 7, Some(Day(20_419)));
    // Folding again would need the records of its own day, and those are kept.
    let kept = ledger.clone().apply(&sums(&[record(Day(20_419))]), 7, Some(Day(20_419)));
    assert_eq!(kept.get(&entity), Some(&Day(20_419)));
    // A day before them fills the hole, and the bucket behind it stays as it is.
    assert!(ledger.apply(&sums(&[record(Day(20_417))]), 7, Some(Day(20_419))).is_empty());
    assert_eq!(spans(&ledger), [(Day(20_417), 3), (Day(20_420), 7)]);
    ledger.apply(&sums(&[record(Day(20_419))]), 7, Some(Day(20_419)));
    assert_eq!(spans(&ledger), [(Day(20_417), 3), (Day(20_420), 7)]);
    assert_eq!(ledger.buckets(&entity)[0].usage, usages(&[("cpu", "2")]));
}

fn record() -> impl Strategy<Value = Record> {
    (0u128..3, 0u128..3, any::<bool>(), 0i32..40, 0u32..4, 1u64..5_000_000).prop_map(
        |(user, project, moved, offset, gpus, micros)| Record {
            member: member(user, project),
            // A project that moved: its records count for the domain it was in.
            domain: if project == 0 && moved { "elsewhere".into() } else { format!("d{}", project / 2).into() },
            day: Day(20_400 + offset),
            usage: amounts(&[("cpu", "2"), ("cuda.device", &gpus.to_string())]).for_micros(micros),
        },
    )
}

fn batches() -> impl Strategy<Value = Vec<Vec<Record>>> {
    proptest::collection::vec(proptest::collection::vec(record(), 0..8), 1..8)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_rebuild_is_the_live_result_and_so_is_storage(batches in batches(), unit in 1u32..10, every in 1usize..4) {
        let (mut ledger, mut known, mut stored) = (Ledger::new(calendar(), Day::MIN), Vec::new(), Buckets::new());
        for (at, batch) in batches.iter().enumerate() {
            take(&mut ledger, &mut known, batch, unit);
            if (at + 1) % every != 0 && at + 1 != batches.len() {
                continue;
            }
            // As the store applies them, after one or several runs.
            let changes = ledger.take_changes();
            prop_assert!(changes.upserts.is_disjoint(&changes.deletes));
            for key in changes.deletes {
                stored.remove(&key);
            }
            for (entity, start) in changes.upserts {
                let bucket = ledger.bucket(&entity, start).expect("what changed is there");
                stored.insert((entity, start), bucket.clone());
            }
        }
        let live = buckets(&ledger);
        prop_assert_eq!(&stored, &live);
        prop_assert_eq!(rebuilt(&known, ledger.calendar(), unit), live);
    }

    #[test]
    fn every_tier_holds_what_the_records_hold(batches in batches(), unit in 1u32..10) {
        let (mut ledger, mut known) = (Ledger::new(calendar(), Day::MIN), Vec::new());
        for batch in &batches {
            take(&mut ledger, &mut known, batch, unit);
        }
        let mut direct = SlotUsages::default();
        for record in &known {
            direct.add(&record.usage);
        }
        let mut tiers: [(SlotUsages, u64); 3] = std::array::from_fn(|_| Default::default());
        for ((entity, _), bucket) in buckets(&ledger) {
            let (usage, records) = &mut tiers[tier(&entity)];
            usage.add(&bucket.usage);
            *records += bucket.records;
            // Divided by the same capacity as all other usage of that day.
            let offered = ledger.calendar().get(bucket.end).map(|c| Arc::clone(&c.capacity));
            prop_assert_eq!(Some(bucket.capacity), offered);
        }
        for (usage, records) in tiers {
            prop_assert_eq!(&usage, &direct);
            prop_assert_eq!(records, known.len() as u64);
        }
    }

    #[test]
    fn retracting_undoes_applying(kept in batches(), taken in proptest::collection::vec(record(), 1..8)) {
        let (mut ledger, mut known) = (Ledger::new(calendar(), Day::MIN), Vec::new());
        take(&mut ledger, &mut known, &kept.concat(), 1);
        let before = buckets(&ledger);
        take(&mut ledger, &mut Vec::new(), &taken, 1);
        ledger.take_changes();
        prop_assert!(ledger.retract(&sums(&taken), None).is_empty());
        ledger.settle_capacities();
        let after = buckets(&ledger);
        for (entity, start) in ledger.take_changes().deletes {
            prop_assert!(!after.contains_key(&(entity, start)));
        }
        prop_assert_eq!(after, before);
    }

    #[test]
    fn what_a_chain_keeps_for_histories_is_as_good_as_new(
        batches in batches(), unit in 1u32..10, options in proptest::collection::vec((1u32..40, 1u32..30, any::<bool>(), 0u32..4), 8)
    ) {
        let (mut ledger, mut known) = (Ledger::new(calendar(), Day::MIN), Vec::new());
        let mut histories: BTreeMap<Owner, DecayedHistory> = BTreeMap::new();
        let mut before = None;
        for (at, (batch, (lookback_days, half_life_days, flat, gpus))) in batches.iter().zip(options).enumerate() {
            take(&mut ledger, &mut known, batch, unit);
            ledger.observe_capacity(None, Day(20_400 + 10 * i32::try_from(at).unwrap()), &amounts(&[("cpu", "70")]));
            let decay = if flat { "flat" } else { "continuous" }.parse().unwrap();
            let weights = if gpus == 0 { SlotAmounts::default() } else { amounts(&[("cuda.device", &gpus.to_string()), ("cpu", "1")]) };
            let options = FairShareOptions { lookback_days, half_life_days, decay, resource_weights: weights, ..FairShareOptions::default() };
            let conditions = (options.clone(), Day(20_430 + i32::from(lookback_days % 2 == 0)));
            let decayer = HistoryDecayer::new(&options, conditions.1);
            // Where the conditions stand, only those count whose buckets changed.
            let mut owners = ledger.normalize(&decayer);
            assert!(ledger.is_normalized(&options.resource_weights));
            if before.replace(conditions.clone()) != Some(conditions.clone()) {
                owners = ledger.all_series().map(|(owner, _)| owner.clone()).collect();
            }
            for owner in owners {
                let history = ledger.history(&owner, &decayer);
                histories.insert(owner, history);
            }
            let mut fresh = Ledger::new(ledger.calendar().clone(), Day::MIN);
            for (owner, series) in ledger.all_series() {
                for bucket in series.buckets() {
                    fresh.load(owner.clone(), bucket.clone());
                }
            }
            let decayer = HistoryDecayer::new(&options, conditions.1);
            for (owner, history) in &histories {
                let anew = fresh.history(owner, &decayer);
                prop_assert_eq!(history.normalized_usage.to_bits(), anew.normalized_usage.to_bits());
                prop_assert_eq!(&history.total_decayed_usage, &anew.total_decayed_usage);
            }
        }
    }
}
