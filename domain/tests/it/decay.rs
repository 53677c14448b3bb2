//! Decay and history (FAIR_SHARE §6).

use std::sync::Arc;

use domain::bucket::{Bucket, DayUsage};
use domain::bucket_series::BucketSeries;
use domain::decay::RegisteredDecay;
use domain::factor::{DecayedHistory, HistoryDecayer, fair_share_factor};
use domain::options::FairShareOptions;
use domain::slots::{ScaledSum, SlotAmounts, SlotUsages};
use domain::time::Day;
use proptest::prelude::*;

use crate::normalization::one_day_example;
use crate::support::{amounts, cases, close, own, usages};

const TODAY: Day = Day(20_500);

fn kind(name: &str) -> RegisteredDecay {
    name.parse().expect("a decay kind")
}

fn bucket(start: Day, usage: &SlotUsages, capacity: &Arc<SlotAmounts>) -> Bucket {
    let mut daily = DayUsage::default();
    daily.add(usage);
    let mut series = BucketSeries::default();
    series.add(start, 1, &daily).expect("the only bucket");
    let mut bucket = series.buckets()[0].clone();
    bucket.capacity = Arc::clone(capacity);
    bucket
}

fn history(options: &FairShareOptions, today: Day, buckets: &[Bucket]) -> DecayedHistory {
    HistoryDecayer::new(options, today).history(&series(buckets))
}

fn series(buckets: &[Bucket]) -> BucketSeries {
    let mut series = BucketSeries::default();
    for bucket in buckets {
        series.place(bucket.clone());
    }
    series
}

#[test]
fn weights_by_age_at_half_life_seven() {
    // (age, flat, continuous): 7 days are period 1 already, and so on.
    let table = [
        (0, 1.0, 1.0),
        (1, 1.0, 0.905_723_664_263_906_7),
        (6, 1.0, 0.552_044_756_836_906_2),
        (7, 0.5, 0.5),
        (13, 0.5, 0.276_022_378_418_453_1),
        (14, 0.25, 0.25),
        (20, 0.25, 0.138_011_189_209_226_55),
        (21, 0.125, 0.125),
        (27, 0.125, 0.069_005_594_604_613_27),
    ];
    for (age, flat, continuous) in table {
        assert!(close(kind("flat").weight(age, 7), flat), "flat {age}");
        assert!(close(kind("continuous").weight(age, 7), continuous), "continuous {age}");
    }
    assert_eq!(
        RegisteredDecay::choices().iter().map(|decay| decay.name).collect::<Vec<_>>(),
        ["flat", "continuous", "slurm"]
    );
    assert_eq!(RegisteredDecay::default().name(), "flat");
    assert!("Flat".parse::<RegisteredDecay>().is_err());
}

#[test]
fn the_proposals_one_day_example_with_lookback_one() {
    let (usage, capacity, resource_weights) = one_day_example();
    let options = FairShareOptions { lookback_days: 1, resource_weights, ..FairShareOptions::default() };
    let today = history(&options, TODAY, &[bucket(TODAY, &usage, &Arc::new(capacity))]);
    assert!(close(today.normalized_usage, 0.075));
    assert_eq!(today.total_decayed_usage, usage);
}

#[test]
fn each_period_counts_half_of_the_one_before() {
    let capacity = Arc::new(amounts(&[("cpu", "10")]));
    let usage = usages(&[("cpu", "864000")]);
    let buckets: Vec<Bucket> = [28, 21, 14, 7, 0].map(|age| bucket(TODAY.plus(-age), &usage, &capacity)).to_vec();
    let whole = history(&FairShareOptions::default(), TODAY, &buckets);
    // Every bucket used the whole cluster for a day; the one of 28 days ago is out.
    assert!(close(whole.normalized_usage, (0.125 + 0.25 + 0.5 + 1.0) / 28.0));
    assert_eq!(whole.total_decayed_usage, usages(&[("cpu", "1620000")]));
}

#[test]
fn a_whole_window_of_full_use_at_long_half_life_is_one() {
    let capacity = Arc::new(amounts(&[("cpu", "10"), ("cuda.device", "4")]));
    let usage = capacity.for_micros(86_400_000_000);
    let buckets: Vec<Bucket> = (0..28).rev().map(|age| bucket(TODAY.plus(-age), &usage, &capacity)).collect();
    let options = FairShareOptions { half_life_days: 28, ..FairShareOptions::default() };
    assert!(close(history(&options, TODAY, &buckets).normalized_usage, 1.0));
}

#[test]
fn aged_out_usage_returns_the_factor_to_one() {
    let capacity = Arc::new(amounts(&[("cpu", "1")]));
    let buckets = [bucket(TODAY, &usages(&[("cpu", "8640000")]), &capacity)];
    let options = FairShareOptions::default();
    let inside = history(&options, TODAY.plus(27), &buckets);
    assert!(fair_share_factor(inside.normalized_usage, own("1")) < 1.0);
    let outside = history(&options, TODAY.plus(28), &buckets);
    assert_eq!(outside, DecayedHistory::default());
    assert_eq!(fair_share_factor(outside.normalized_usage, own("1")).to_bits(), 1f64.to_bits());
}

#[test]
fn a_bucket_from_the_future_is_as_fresh_as_todays() {
    let options = FairShareOptions::default();
    let decayer = HistoryDecayer::new(&options, TODAY);
    assert_eq!(decayer.weight(TODAY.plus(3)), decayer.weight(TODAY));
    assert_eq!(decayer.weight(Day(i32::MAX)), decayer.weight(TODAY));
    assert_eq!(decayer.weight(Day(i32::MIN)), None);
}

#[test]
fn the_proposals_use_case() {
    // User A used 4 GPU hours on each of six days, user B nothing.
    let capacity = Arc::new(amounts(&[("cuda.device", "8")]));
    let usage = usages(&[("cuda.device", "14400")]);
    let of_a: Vec<Bucket> = (1..=6).rev().map(|age| bucket(TODAY.plus(-age), &usage, &capacity)).collect();
    let options = FairShareOptions::default();
    let (a, b) = (history(&options, TODAY, &of_a), history(&options, TODAY, &[]));
    assert_eq!(a.total_decayed_usage, usages(&[("cuda.device", "86400")]));
    let factor = |h: &DecayedHistory| fair_share_factor(h.normalized_usage, own("1"));
    assert!(factor(&b) > factor(&a));
}

#[test]
fn usage_without_capacity_is_summed_but_weighs_nothing() {
    let usage = usages(&[("cpu", "100")]);
    let found = history(&FairShareOptions::default(), TODAY, &[bucket(TODAY, &usage, &Arc::default())]);
    assert_eq!(found.normalized_usage.to_bits(), 0);
    assert_eq!(found.total_decayed_usage, usage);
}

#[test]
fn a_decayer_tells_capacities_apart_that_follow_each_other_in_memory() {
    let options = FairShareOptions::default();
    let decayer = HistoryDecayer::new(&options, TODAY);
    let mut normalize = decayer.normalizing();
    for size in 1..50u32 {
        let capacity = Arc::new(amounts(&[("cpu", &size.to_string())]));
        let full = capacity.for_micros(86_400_000_000);
        // Each bucket, with its capacity, is gone before the next comes.
        let mut series = series(&[bucket(TODAY, &full, &capacity)]);
        normalize(&mut series);
        assert!(close(series.normalized_days(|_, _| f64::NAN)[0].normalized, 1.0), "{size}");
    }
}

prop_compose! {
    fn buckets()(rows in proptest::collection::btree_map(0i32..60, (1u32..1_000_000, 1u32..64), 0..30)) -> Vec<Bucket> {
        rows.into_iter()
            .map(|(day, (seconds, cores))| {
                let capacity = Arc::new(amounts(&[("cpu", &cores.to_string())]));
                bucket(TODAY.plus(day - 60), &usages(&[("cpu", &seconds.to_string())]), &capacity)
            })
            .collect()
    }
}

fn any_kind() -> impl Strategy<Value = RegisteredDecay> {
    prop_oneof![Just(kind("flat")), Just(kind("continuous")), Just(kind("slurm"))]
}

/// Numbers that take 1 to 32 bytes, in every grain.
fn any_usage() -> impl Strategy<Value = SlotUsages> {
    let number = prop_oneof!["[1-9][0-9]{0,9}", "[0-9]{1,12}\\.[0-9]{1,18}", "[1-9][0-9]{20,50}\\.[0-9]{1,18}"];
    let name = prop_oneof![Just("cpu"), Just("mem"), Just("cuda.device"), Just("fpga")];
    proptest::collection::btree_map(name, number, 0..4)
        .prop_map(|map| usages(&map.iter().map(|(name, number)| (*name, number.as_str())).collect::<Vec<_>>()))
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn decayed_usage_is_the_exact_sum_rounded_once(
        rows in proptest::collection::btree_map(0i32..90, any_usage(), 0..40), decay in any_kind(),
        half_life_days in 1u32..40, lookback_days in 1u32..100
    ) {
        let options = FairShareOptions { decay, half_life_days, lookback_days, ..FairShareOptions::default() };
        let capacity = Arc::default();
        let buckets: Vec<Bucket> = rows.iter().map(|(day, usage)| bucket(TODAY.plus(day - 80), usage, &capacity)).collect();
        let decayer = HistoryDecayer::new(&options, TODAY);
        let mut sum = ScaledSum::default();
        for bucket in &buckets {
            if let Some(weight) = decayer.weight(bucket.start) {
                let days = TODAY.days_since(bucket.start).max(0).unsigned_abs();
                let own = decay.weight(days, half_life_days);
                prop_assert_eq!(weight.to_bits(), own.to_bits());
                sum.add(&bucket.usage, weight);
            }
        }
        prop_assert_eq!(history(&options, TODAY, &buckets).total_decayed_usage, sum.rounded());
    }

    #[test]
    fn older_never_weighs_more(decay in any_kind(), age in 0u32..3650, half_life in 1u32..=3650) {
        let (younger, older) = (decay.weight(age, half_life), decay.weight(age + 1, half_life));
        prop_assert!((0.0..=1.0).contains(&younger) && (0.0..=1.0).contains(&older));
        prop_assert!(older <= younger);
        prop_assert!(decay.weight(age, half_life + 1) >= younger);
    }

    #[test]
    fn both_kinds_agree_at_whole_half_lives(half_life in 1u32..400, periods in 0u32..60) {
        let weights = ["flat", "continuous"].map(|name| kind(name).weight(half_life * periods, half_life).to_bits());
        prop_assert_eq!(weights[0], weights[1]);
        let day_later = ["flat", "continuous"].map(|name| kind(name).weight(half_life * periods + 1, half_life));
        prop_assert!(day_later[1] <= day_later[0], "between them the flat kind is kinder to the past");
    }

    #[test]
    fn waiting_never_makes_usage_heavier(
        buckets in buckets(), decay in any_kind(), half_life_days in 1u32..40, lookback_days in 1u32..70, wait in 1i32..30
    ) {
        let options = FairShareOptions { decay, half_life_days, lookback_days, ..FairShareOptions::default() };
        let (now, later) = (history(&options, TODAY, &buckets), history(&options, TODAY.plus(wait), &buckets));
        prop_assert!(later.normalized_usage <= now.normalized_usage * (1.0 + 1e-12));
        for (slot, usage) in later.total_decayed_usage.iter() {
            prop_assert!(now.total_decayed_usage.get(slot).is_some_and(|n| n >= usage));
        }
    }

    #[test]
    fn history_is_its_definition(
        buckets in buckets(), half_life_days in 1u32..40, lookback_days in 1u32..70
    ) {
        let options = FairShareOptions { half_life_days, lookback_days, ..FairShareOptions::default() };
        let found = history(&options, TODAY, &buckets);
        let (mut normalized, mut total) = (0.0, 0.0);
        for bucket in &buckets {
            let age = TODAY.days_since(bucket.start).unsigned_abs();
            if age < lookback_days {
                let seconds = bucket.usage.iter().next().map_or(0.0, |(_, u)| u.to_f64());
                let cores = bucket.capacity.iter().next().map_or(0.0, |(_, c)| c.to_f64());
                let mut weight = 1.0;
                for _ in 0..age / half_life_days {
                    weight /= 2.0;
                }
                normalized += weight * seconds / (cores * 86_400.0);
                total += weight * seconds;
            }
        }
        prop_assert!(close(found.normalized_usage, normalized / f64::from(lookback_days)));
        let decayed = found.total_decayed_usage.iter().next().map_or(0.0, |(_, u)| u.to_f64());
        prop_assert!((decayed - total).abs() <= 1e-9 * total.max(1.0), "{decayed} {total}");
    }
}
