//! Buckets of one entity (FAIR_SHARE §5): whatever order days arrive in, the chain is the fold of the sorted days.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::domain::bucket::{Bucket, Daily, NeedsRebuild};
use fairshared::domain::chain::Chain;
use fairshared::domain::slots::Usages;
use fairshared::domain::time::{Day, MICROS_PER_DAY};
use proptest::prelude::*;

use super::support::{amounts, cases, day, slot, usages};

fn one(usage: &Usages) -> Daily {
    let mut daily = Daily::default();
    daily.add(usage);
    daily
}

fn cpu(seconds: u32) -> Daily {
    one(&usages(&[("cpu", &seconds.to_string())]))
}

/// (start, end, usage, records) of each bucket.
type Row = (Day, Day, Usages, u64);

fn rows(chain: &Chain) -> Vec<Row> {
    chain.iter().map(|b| (b.start, b.end, b.usage.clone(), b.records)).collect()
}

/// The definition: walk the days in order; a bucket takes what lies less than `unit` days after its start.
fn fold(days: &BTreeMap<Day, Daily>, unit: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (day, daily) in days {
        match rows.last_mut() {
            Some((start, end, usage, records)) if day.days_since(*start).unsigned_abs() < unit => {
                *end = *day;
                usage.add(&daily.usage);
                *records += daily.records;
            }
            _ => rows.push((*day, *day, daily.usage.clone(), daily.records)),
        }
    }
    rows
}

#[test]
fn the_proposals_week() {
    let mut chain = Chain::default();
    for date in 6..=12 {
        let start = chain.add(day(&format!("2026-01-{date:02}")), 7, &cpu(10)).expect("a place");
        assert_eq!(start, day("2026-01-06"));
        assert_eq!(chain.at(0).end, day(&format!("2026-01-{date:02}")));
    }
    // Jan 13 - Jan 6 = 7 days: the bucket is full.
    assert_eq!(chain.add(day("2026-01-13"), 7, &cpu(5)), Ok(day("2026-01-13")));
    assert_eq!(
        rows(&chain),
        [
            (day("2026-01-06"), day("2026-01-12"), usages(&[("cpu", "70")]), 7),
            (day("2026-01-13"), day("2026-01-13"), usages(&[("cpu", "5")]), 1),
        ]
    );
}

#[test]
fn a_bucket_opens_on_the_first_day_with_usage() {
    let mut chain = Chain::default();
    for date in ["2026-01-06", "2026-01-15", "2026-01-21", "2026-01-22"] {
        chain.add(day(date), 7, &cpu(1)).expect("a place");
    }
    let spans: Vec<(Day, Day)> = chain.iter().map(|b| (b.start, b.end)).collect();
    assert_eq!(
        spans,
        [
            (day("2026-01-06"), day("2026-01-06")),
            (day("2026-01-15"), day("2026-01-21")),
            (day("2026-01-22"), day("2026-01-22")),
        ]
    );
}

#[test]
fn a_day_that_would_move_later_buckets_changes_nothing() {
    let mut chain = Chain::default();
    chain.add(day("2026-01-10"), 7, &cpu(1)).expect("a place");
    let before = chain.clone();
    assert_eq!(chain.add(day("2026-01-04"), 7, &cpu(1)), Err(NeedsRebuild));
    assert_eq!(chain, before);
    // Seven days before is a bucket of its own.
    assert_eq!(chain.add(day("2026-01-03"), 7, &cpu(1)), Ok(day("2026-01-03")));
}

#[test]
fn taking_back_needs_a_one_day_bucket_that_holds_it() {
    let mut chain = Chain::default();
    chain.add(day("2026-01-06"), 7, &cpu(10)).expect("a place");
    chain.add(day("2026-01-20"), 1, &cpu(10)).expect("a place");
    let before = chain.clone();
    let mut two = cpu(1);
    two.add(&usages(&[("cpu", "1")]));
    for (date, removed) in [("2026-01-06", cpu(10)), ("2026-01-20", two), ("2026-01-21", cpu(1))] {
        assert_eq!(chain.subtract(day(date), &removed), Err(NeedsRebuild), "{date}");
        assert_eq!(chain, before);
    }
    assert_eq!(chain.subtract(day("2026-01-20"), &cpu(10)), Ok(day("2026-01-20")));
    assert_eq!(chain.len(), 1);
}

#[test]
fn slots_that_nobody_used_leave_no_trace() {
    let idle = || Daily { usage: usages(&[("cpu", "1"), ("cuda.device", "0")]), records: 1 };
    let mut chain = Chain::default();
    for _ in 0..2 {
        chain.add(day("2026-01-06"), 1, &idle()).expect("a place");
        let cpu_only = chain.at(0).usage.iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(cpu_only, [slot("cpu")]);
    }
}

#[test]
fn forgetting_and_splitting_keep_the_rest() {
    let mut chain = Chain::default();
    for date in ["2026-01-06", "2026-01-13", "2026-01-20"] {
        chain.add(day(date), 7, &cpu(1)).expect("a place");
    }
    let starts = |buckets: &[Bucket]| -> Vec<Day> { buckets.iter().map(|b| b.start).collect() };
    // Jan 19 can still belong to the bucket of Jan 13.
    let mut split = chain.clone();
    assert_eq!(starts(&split.split_off(day("2026-01-19"))), [day("2026-01-13"), day("2026-01-20")]);
    assert_eq!(starts(&split.iter().collect::<Vec<_>>()), [day("2026-01-06")]);
    let mut split = chain.clone();
    assert_eq!(starts(&split.split_off(day("2026-01-20"))), [day("2026-01-20")]);
    chain.forget_before(day("2026-01-07"));
    assert_eq!(starts(&chain.iter().collect::<Vec<_>>()), [day("2026-01-13"), day("2026-01-20")]);
    chain.forget_before(day("2026-01-07"));
    assert_eq!(chain.len(), 2);
}

/// The largest numbers and the finest ones lie in one column.
#[test]
fn a_column_has_room_for_the_largest_and_the_finest() {
    let of = |start: Day, number: &str| Bucket {
        start,
        end: start,
        unit_days: 1,
        usage: usages(&[("cpu", number)]),
        records: 1,
        capacity: Arc::new(amounts(&[("cpu", "1")])),
    };
    let largest = format!("{}.5", "9".repeat(56));
    let first = day("2026-01-06");
    let buckets: Vec<Bucket> = [&largest[..], "0.000000000000000001", "0.25"]
        .into_iter()
        .zip(0..)
        .map(|(n, at)| of(first.plus(at), n))
        .collect();
    let mut chain = Chain::default();
    for bucket in &buckets {
        chain.place(bucket);
    }
    assert_eq!(chain.iter().collect::<Vec<_>>(), buckets);
}

/// One usage record: a day, slots of which some are zero.
fn record() -> impl Strategy<Value = (Day, Usages)> {
    (0i32..60, 0u32..4, 0u32..3, 1u64..5_000_000).prop_map(|(offset, cpu, gpu, micros)| {
        let slots = amounts(&[("cpu", &cpu.to_string()), ("cuda.device", &gpu.to_string())]);
        (Day(20_400 + offset), slots.for_micros(micros))
    })
}

/// Buckets of anything that can be used: numbers of any length, any slots.
fn any_buckets() -> impl Strategy<Value = Vec<Bucket>> {
    let number =
        prop_oneof!["0", "[1-9][0-9]{0,9}", "[1-9][0-9]{0,14}\\.[0-9]{1,18}", "[1-9][0-9]{30,55}\\.[0-9]{1,18}"];
    let name = prop_oneof![Just("cpu"), Just("mem"), Just("cuda.device"), Just("fpga"), Just("tpu")];
    let usage = proptest::collection::btree_map(name, number, 0..5);
    let bucket = (usage, 1u32..40, prop_oneof![0u64..200, Just(u64::MAX / 2)]);
    proptest::collection::vec(bucket, 0..40).prop_map(|rows| {
        let mut start = Day(20_400);
        let bucket = |(usage, unit_days, records): (BTreeMap<&str, String>, u32, u64)| {
            let usage =
                usage.iter().map(|(name, number)| (slot(name), number.parse().expect("a legal usage"))).collect();
            let end = start.plus(unit_days.cast_signed() - 1);
            let capacity = Arc::new(amounts(&[("cpu", &unit_days.to_string())]));
            let bucket = Bucket { start, end, unit_days, usage, records, capacity };
            start = end.plus(1);
            bucket
        };
        rows.into_iter().map(bucket).collect()
    })
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_chain_holds_exactly_what_it_was_given(buckets in any_buckets(), seed in any::<u64>(), cut in 0i32..800) {
        let mut chain = Chain::default();
        let mut order: Vec<usize> = (0..buckets.len()).collect();
        order.sort_by_key(|at| seed.rotate_left(u32::try_from(at % 64).unwrap()) ^ *at as u64);
        for at in order {
            chain.place(&buckets[at]);
        }
        // What is zero is left out.
        let usage = |bucket: &Bucket| bucket.usage.filtered(|usage| !usage.is_zero());
        let buckets: Vec<Bucket> = buckets.into_iter().map(|b| Bucket { usage: usage(&b), ..b }).collect();
        prop_assert_eq!(chain.iter().collect::<Vec<_>>(), buckets.clone());
        for (at, bucket) in buckets.iter().enumerate() {
            prop_assert_eq!(&chain.usage(at), &bucket.usage);
            prop_assert_eq!(chain.bucket(bucket.start), Some(bucket.clone()));
        }
        let day = Day(20_400 + cut);
        let mut forgetting = chain.clone();
        forgetting.forget_before(day);
        let (old, young): (Vec<_>, Vec<_>) = buckets.iter().cloned().partition(|b| b.start < day);
        prop_assert_eq!(forgetting.iter().collect::<Vec<_>>(), young);
        let mut splitting = chain.clone();
        let after = splitting.split_off(day);
        prop_assert_eq!(splitting.iter().chain(after).collect::<Vec<_>>(), buckets.clone());
        prop_assert!(splitting.len() <= old.len());
        // Every bucket can grow in its place.
        for bucket in &buckets {
            chain.add(bucket.end, 1, &cpu(1)).expect("a place");
        }
        let mut expected = buckets;
        for bucket in &mut expected {
            bucket.usage.add(&cpu(1).usage);
            bucket.records += 1;
        }
        prop_assert_eq!(chain.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn any_order_gives_the_fold_of_the_sorted_days(
        records in proptest::collection::vec(record(), 1..40), unit in 1u32..12
    ) {
        let mut chain = Chain::default();
        let mut known: BTreeMap<Day, Daily> = BTreeMap::new();
        for (day, usage) in &records {
            known.entry(*day).or_default().add(usage);
            let expected = fold(&known, unit);
            if let Ok(start) = chain.add(*day, unit, &one(usage)) {
                prop_assert!(expected.iter().any(|(s, e, ..)| *s == start && (*s..=*e).contains(day)));
            } else {
                // As a rebuild does it: from the first bucket that the day can touch.
                let from = chain.split_off(*day).first().map_or(*day, |b| b.start.min(*day));
                for (day, daily) in known.range(from..) {
                    prop_assert!(chain.add(*day, unit, daily).is_ok());
                }
            }
            prop_assert_eq!(rows(&chain), expected);
        }
        for pair in chain.iter().collect::<Vec<_>>().windows(2) {
            prop_assert!(pair[0].closes() <= pair[1].start);
        }
        for bucket in chain.iter() {
            prop_assert!(bucket.takes(bucket.start) && bucket.takes(bucket.end) && !bucket.takes(bucket.closes()));
        }
    }

    #[test]
    fn taking_back_undoes_adding(
        kept in proptest::collection::vec(record(), 0..20), taken in proptest::collection::vec(record(), 1..20)
    ) {
        let mut chain = Chain::default();
        for (day, usage) in &kept {
            chain.add(*day, 1, &one(usage)).expect("one-day buckets never move");
        }
        let before = rows(&chain);
        for (day, usage) in &taken {
            chain.add(*day, 1, &one(usage)).expect("one-day buckets never move");
        }
        for (day, usage) in taken.iter().rev() {
            prop_assert_eq!(chain.subtract(*day, &one(usage)), Ok(*day));
        }
        prop_assert_eq!(rows(&chain), before);
    }

    #[test]
    fn chains_conserve_usage(records in proptest::collection::vec(record(), 1..40), unit in 1u32..12) {
        let mut days: Vec<&(Day, Usages)> = records.iter().collect();
        days.sort_unstable_by_key(|(day, _)| *day);
        let (mut chain, mut direct) = (Chain::default(), Usages::default());
        for (day, usage) in days {
            chain.add(*day, unit, &one(usage)).expect("ascending days always find a place");
            direct.add(usage);
        }
        let mut summed = Usages::default();
        for bucket in chain.iter() {
            summed.add(&bucket.usage);
        }
        prop_assert_eq!(&summed, &direct);
        prop_assert!(summed.get(slot("cpu")).is_none_or(|u| !u.is_zero()));
        prop_assert_eq!(chain.iter().map(|b| b.records).sum::<u64>(), records.len() as u64);
    }
}

#[test]
fn a_bucket_of_three_slots_takes_less_than_80_bytes() {
    let amounts = amounts(&[("cpu", "17.5"), ("cuda.device", "3"), ("mem", "137438953472")]);
    let mut daily = Daily::default();
    for part in 0..288 {
        daily.add(&amounts.for_micros((MICROS_PER_DAY.unsigned_abs() / 288) - part));
    }
    let capacity = Arc::new(amounts);
    let mut chain = Chain::default();
    for day in 0..100 {
        chain.add(Day(day), 1, &daily).unwrap();
        chain.set_capacity(Day(day), &capacity);
        chain.forget_before(Day(day - 27));
    }
    assert_eq!(chain.len(), 28);
    // Each of the four blocks has a word of the allocator before it.
    let bytes = chain.memory() + 4 * size_of::<usize>();
    assert!(bytes / 28 <= 80, "{}", bytes / 28);
}
