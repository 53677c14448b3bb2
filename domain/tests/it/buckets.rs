//! Buckets of one owner (FAIR_SHARE §5): in any order of the days' arrival, the series is the fold of the sorted days.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::bucket::{Bucket, DayUsage, NeedsRebuild};
use domain::bucket_series::BucketSeries;
use domain::slots::SlotUsages;
use domain::time::Day;
use proptest::prelude::*;

use crate::support::{amounts, cases, day, slot, usages};

fn one(usage: &SlotUsages) -> DayUsage {
    let mut daily = DayUsage::default();
    daily.add(usage);
    daily
}

fn cpu(seconds: u32) -> DayUsage {
    one(&usages(&[("cpu", &seconds.to_string())]))
}

/// (start, end, usage, records) of each bucket.
type Row = (Day, Day, SlotUsages, u64);

fn rows(series: &BucketSeries) -> Vec<Row> {
    series.buckets().iter().map(|b| (b.start, b.end, b.usage.clone(), b.records)).collect()
}

/// The definition: goes through the days in order; a bucket takes the days that are less than `unit` days after its start.
fn fold(days: &BTreeMap<Day, DayUsage>, unit: u32) -> Vec<Row> {
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
    let mut series = BucketSeries::default();
    for date in 6..=12 {
        let start = series.add(day(&format!("2026-01-{date:02}")), 7, &cpu(10)).expect("a place");
        assert_eq!(start, day("2026-01-06"));
        assert_eq!(series.buckets()[0].end, day(&format!("2026-01-{date:02}")));
    }
    // Jan 13 - Jan 6 = 7 days: the bucket is full.
    assert_eq!(series.add(day("2026-01-13"), 7, &cpu(5)), Ok(day("2026-01-13")));
    assert_eq!(
        rows(&series),
        [
            (day("2026-01-06"), day("2026-01-12"), usages(&[("cpu", "70")]), 7),
            (day("2026-01-13"), day("2026-01-13"), usages(&[("cpu", "5")]), 1),
        ]
    );
}

#[test]
fn a_bucket_opens_on_the_first_day_with_usage() {
    let mut series = BucketSeries::default();
    for date in ["2026-01-06", "2026-01-15", "2026-01-21", "2026-01-22"] {
        series.add(day(date), 7, &cpu(1)).expect("a place");
    }
    let spans: Vec<(Day, Day)> = series.buckets().iter().map(|b| (b.start, b.end)).collect();
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
    let mut series = BucketSeries::default();
    series.add(day("2026-01-10"), 7, &cpu(1)).expect("a place");
    let before = series.clone();
    assert_eq!(series.add(day("2026-01-04"), 7, &cpu(1)), Err(NeedsRebuild));
    assert_eq!(series, before);
    // Seven days before is a bucket of its own.
    assert_eq!(series.add(day("2026-01-03"), 7, &cpu(1)), Ok(day("2026-01-03")));
}

#[test]
fn taking_back_needs_a_one_day_bucket_that_holds_it() {
    let mut series = BucketSeries::default();
    series.add(day("2026-01-06"), 7, &cpu(10)).expect("a place");
    series.add(day("2026-01-20"), 1, &cpu(10)).expect("a place");
    let before = series.clone();
    let mut two = cpu(1);
    two.add(&usages(&[("cpu", "1")]));
    for (date, removed) in [("2026-01-06", cpu(10)), ("2026-01-20", two), ("2026-01-21", cpu(1))] {
        assert_eq!(series.subtract(day(date), &removed), Err(NeedsRebuild), "{date}");
        assert_eq!(series, before);
    }
    assert_eq!(series.subtract(day("2026-01-20"), &cpu(10)), Ok(day("2026-01-20")));
    assert_eq!(series.len(), 1);
}

#[test]
fn slots_that_nobody_used_leave_no_trace() {
    let idle = || DayUsage { usage: usages(&[("cpu", "1"), ("cuda.device", "0")]), records: 1 };
    let mut series = BucketSeries::default();
    for _ in 0..2 {
        series.add(day("2026-01-06"), 1, &idle()).expect("a place");
        let cpu_only = series.buckets()[0].usage.iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(cpu_only, [slot("cpu")]);
    }
}

#[test]
fn forgetting_and_splitting_keep_the_rest() {
    let mut series = BucketSeries::default();
    for date in ["2026-01-06", "2026-01-13", "2026-01-20"] {
        series.add(day(date), 7, &cpu(1)).expect("a place");
    }
    let starts = |buckets: &[Bucket]| -> Vec<Day> { buckets.iter().map(|b| b.start).collect() };
    // Jan 19 can still belong to the bucket of Jan 13.
    let mut split = series.clone();
    assert_eq!(starts(&split.split_off(day("2026-01-19"))), [day("2026-01-13"), day("2026-01-20")]);
    assert_eq!(starts(split.buckets()), [day("2026-01-06")]);
    let mut split = series.clone();
    assert_eq!(starts(&split.split_off(day("2026-01-20"))), [day("2026-01-20")]);
    series.forget_before(day("2026-01-07"));
    assert_eq!(starts(series.buckets()), [day("2026-01-13"), day("2026-01-20")]);
    series.forget_before(day("2026-01-07"));
    assert_eq!(series.len(), 2);
}

#[test]
fn a_series_has_room_for_the_largest_and_the_finest() {
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
    let mut series = BucketSeries::default();
    for bucket in &buckets {
        series.place(bucket.clone());
    }
    assert_eq!(series.buckets(), buckets);
}

/// One usage record: a day, slots of which some are zero.
fn record() -> impl Strategy<Value = (Day, SlotUsages)> {
    (0i32..60, 0u32..4, 0u32..3, 1u64..5_000_000).prop_map(|(offset, cpu, gpu, micros)| {
        let slots = amounts(&[("cpu", &cpu.to_string()), ("cuda.device", &gpu.to_string())]);
        (Day(20_400 + offset), slots.for_micros(micros))
    })
}

/// Random buckets: numbers of any length, any slots.
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
    fn a_series_holds_exactly_what_it_was_given(buckets in any_buckets(), seed in any::<u64>(), cut in 0i32..800) {
        let mut series = BucketSeries::default();
        let mut order: Vec<usize> = (0..buckets.len()).collect();
        order.sort_by_key(|at| seed.rotate_left(u32::try_from(at % 64).unwrap()) ^ *at as u64);
        for at in order {
            series.place(buckets[at].clone());
        }
        // Zero usage is left out.
        let usage = |bucket: &Bucket| bucket.usage.filtered(|usage| !usage.is_zero());
        let buckets: Vec<Bucket> = buckets.into_iter().map(|b| Bucket { usage: usage(&b), ..b }).collect();
        prop_assert_eq!(series.buckets(), &buckets[..]);
        for (at, bucket) in buckets.iter().enumerate() {
            prop_assert_eq!(&series.buckets()[at].usage, &bucket.usage);
            prop_assert_eq!(series.bucket(bucket.start), Some(bucket));
        }
        let day = Day(20_400 + cut);
        let mut forgetting = series.clone();
        forgetting.forget_before(day);
        let (old, young): (Vec<_>, Vec<_>) = buckets.iter().cloned().partition(|b| b.start < day);
        prop_assert_eq!(forgetting.buckets(), young);
        let mut splitting = series.clone();
        let after = splitting.split_off(day);
        prop_assert_eq!(splitting.buckets().iter().cloned().chain(after).collect::<Vec<_>>(), buckets.clone());
        prop_assert!(splitting.len() <= old.len());
        // Every bucket can grow in its place.
        for bucket in &buckets {
            series.add(bucket.end, 1, &cpu(1)).expect("a place");
        }
        let mut expected = buckets;
        for bucket in &mut expected {
            bucket.usage.add(&cpu(1).usage);
            bucket.records += 1;
        }
        prop_assert_eq!(series.buckets(), expected);
    }

    #[test]
    fn any_order_gives_the_fold_of_the_sorted_days(
        records in proptest::collection::vec(record(), 1..40), unit in 1u32..12
    ) {
        let mut series = BucketSeries::default();
        let mut known: BTreeMap<Day, DayUsage> = BTreeMap::new();
        for (day, usage) in &records {
            known.entry(*day).or_default().add(usage);
            let expected = fold(&known, unit);
            if let Ok(start) = series.add(*day, unit, &one(usage)) {
                prop_assert!(expected.iter().any(|(s, e, ..)| *s == start && (*s..=*e).contains(day)));
            } else {
                // As a rebuild does it: from the first bucket that the day can touch.
                let from = series.split_off(*day).first().map_or(*day, |b| b.start.min(*day));
                for (day, daily) in known.range(from..) {
                    prop_assert!(series.add(*day, unit, daily).is_ok());
                }
            }
            prop_assert_eq!(rows(&series), expected);
        }
        for pair in series.buckets().windows(2) {
            prop_assert!(pair[0].closes() <= pair[1].start);
        }
        for bucket in series.buckets() {
            prop_assert!(bucket.takes(bucket.start) && bucket.takes(bucket.end) && !bucket.takes(bucket.closes()));
        }
    }

    #[test]
    fn taking_back_undoes_adding(
        kept in proptest::collection::vec(record(), 0..20), taken in proptest::collection::vec(record(), 1..20)
    ) {
        let mut series = BucketSeries::default();
        for (day, usage) in &kept {
            series.add(*day, 1, &one(usage)).expect("one-day buckets never move");
        }
        let before = rows(&series);
        for (day, usage) in &taken {
            series.add(*day, 1, &one(usage)).expect("one-day buckets never move");
        }
        for (day, usage) in taken.iter().rev() {
            prop_assert_eq!(series.subtract(*day, &one(usage)), Ok(*day));
        }
        prop_assert_eq!(rows(&series), before);
    }

    #[test]
    fn series_conserve_usage(records in proptest::collection::vec(record(), 1..40), unit in 1u32..12) {
        let mut days: Vec<&(Day, SlotUsages)> = records.iter().collect();
        days.sort_unstable_by_key(|(day, _)| *day);
        let (mut series, mut direct) = (BucketSeries::default(), SlotUsages::default());
        for (day, usage) in days {
            series.add(*day, unit, &one(usage)).expect("ascending days always find a place");
            direct.add(usage);
        }
        let mut summed = SlotUsages::default();
        for bucket in series.buckets() {
            summed.add(&bucket.usage);
        }
        prop_assert_eq!(&summed, &direct);
        prop_assert!(summed.get(slot("cpu")).is_none_or(|u| !u.is_zero()));
        prop_assert_eq!(series.buckets().iter().map(|b| b.records).sum::<u64>(), records.len() as u64);
    }
}
