//! One capacity for each group and day (FAIR_SHARE §5).

use std::sync::Arc;

use domain::capacity::{CapacityCalendar, CapacitySource, DayCapacity};
use domain::slots::SlotAmounts;
use domain::time::{Day, TimeSpan, Timestamp};
use proptest::prelude::*;

use crate::support::{amounts, at, cases, day, slot, span};

fn gpus(count: u32) -> SlotAmounts {
    amounts(&[("cuda.device", &count.to_string())])
}

fn capacity(calendar: &CapacityCalendar, day: Day) -> Option<(CapacitySource, SlotAmounts)> {
    calendar.get(day).map(|c| (c.source, SlotAmounts::clone(&c.capacity)))
}

#[test]
fn a_first_look_stands_until_time_passes() {
    let today = day("2026-01-13");
    let mut calendar = CapacityCalendar::default();
    assert_eq!(calendar.observe(None, today, &gpus(100)), [today]);
    assert_eq!(calendar.observe(None, today, &gpus(100)), []);
    assert_eq!(calendar.observe(None, today, &gpus(90)), [today]);
    assert_eq!(capacity(&calendar, today), Some((CapacitySource::Observed, gpus(90))));
    let hour = span(at("2026-01-13T10:00:00Z"), at("2026-01-13T11:00:00Z"));
    calendar.observe(Some(hour), today, &gpus(80));
    assert_eq!(capacity(&calendar, today), Some((CapacitySource::Observed, gpus(80))));
    // From now on only time counts.
    assert_eq!(calendar.observe(None, today, &gpus(1)), []);
}

#[test]
fn a_day_has_the_time_weighted_mean() {
    let mut calendar = CapacityCalendar::default();
    let (first, second) = (day("2026-01-13"), day("2026-01-14"));
    let until = |text| at(text);
    let spans = [
        ("2026-01-13T00:00:00Z", "2026-01-13T18:00:00Z", 100),
        ("2026-01-13T18:00:00Z", "2026-01-14T12:00:00Z", 60),
        ("2026-01-14T12:00:00Z", "2026-01-15T00:00:00Z", 0),
    ];
    for (start, end, count) in spans {
        let part = span(until(start), until(end));
        calendar.observe(Some(part), part.end.day(), &gpus(count));
    }
    // (18 h x 100 + 6 h x 60) / 24 h, (12 h x 60 + 12 h x 0) / 24 h.
    assert_eq!(capacity(&calendar, first), Some((CapacitySource::Observed, gpus(90))));
    assert_eq!(capacity(&calendar, second), Some((CapacitySource::Observed, gpus(30))));
    // A slot that was there for half a day counts half.
    let mut calendar = CapacityCalendar::default();
    let halves = [("00:00", "12:00", amounts(&[("cpu", "8")])), ("12:00", "18:00", amounts(&[("mem", "9")]))];
    for (start, end, offered) in halves {
        let part = span(at(&format!("2026-01-13T{start}:00Z")), at(&format!("2026-01-13T{end}:00Z")));
        calendar.observe(Some(part), first, &offered);
    }
    let mean = calendar.get(first).map(|c| SlotAmounts::clone(&c.capacity)).expect("observed");
    assert_eq!(mean.get(slot("cpu")).map(|a| a.to_string()).as_deref(), Some("5.333333333333"));
    assert_eq!(mean.get(slot("mem")).map(|a| a.to_string()).as_deref(), Some("3"));
}

#[test]
fn a_day_nobody_observed_takes_the_nearest_the_earlier_one_first() {
    let known = CapacityCalendar::default();
    assert_eq!(known.clone().settle(Day(100)), None);
    let mut known = known;
    known.observe(None, Day(10), &gpus(10));
    known.insert(Day(20), DayCapacity::fixed(CapacitySource::Given, Arc::new(gpus(20))));
    for (asked, expected, new) in [
        (5, 10, true),
        (10, 10, false),
        (14, 10, true),
        (15, 10, true),
        (16, 20, true),
        (20, 20, false),
        (90, 20, true),
    ] {
        let (settled, is_new) = known.clone().settle(Day(asked)).expect("something is known");
        assert_eq!((SlotAmounts::clone(&settled), is_new), (gpus(expected), new), "{asked}");
    }
    // Copies are no source: 17 is nearest to 16, but 16 was only copied.
    let mut calendar = known;
    for asked in [11, 12, 13, 14, 15] {
        calendar.settle(Day(asked));
    }
    assert_eq!(calendar.settle(Day(16)).map(|(c, _)| SlotAmounts::clone(&c)), Some(gpus(20)));
    assert_eq!(calendar.get(Day(15)).map(|c| c.source), Some(CapacitySource::Nearest));
    assert_eq!(calendar.settle(Day(15)).map(|(_, new)| new), Some(false));
}

#[test]
fn what_was_given_stands_and_what_was_copied_yields() {
    let today = day("2026-01-13");
    let noon = span(at("2026-01-13T11:00:00Z"), at("2026-01-13T12:00:00Z"));
    let mut calendar = CapacityCalendar::default();
    calendar.insert(today, DayCapacity::fixed(CapacitySource::Given, Arc::new(gpus(8))));
    assert_eq!(calendar.observe(Some(noon), today, &gpus(4)), []);
    assert_eq!(capacity(&calendar, today), Some((CapacitySource::Given, gpus(8))));

    calendar.settle(today.plus(1));
    assert_eq!(calendar.observe(None, today.plus(1), &gpus(4)), [today.plus(1)]);
    assert_eq!(capacity(&calendar, today.plus(1)), Some((CapacitySource::Observed, gpus(4))));
}

#[test]
fn sources_have_names() {
    for source in [CapacitySource::Observed, CapacitySource::Given, CapacitySource::Nearest] {
        assert_eq!(CapacitySource::parse(source.as_str()), Some(source));
    }
    assert_eq!(CapacitySource::parse("guessed"), None);
}

const BASE: i64 = 1_768_000_000_000_000;

/// Contiguous observations: durations in microseconds, and the capacity.
fn observations() -> impl Strategy<Value = Vec<(i64, u32)>> {
    proptest::collection::vec((1i64..40_000_000_000, 0u32..100_000), 1..30)
}

fn observe_all(calendar: &mut CapacityCalendar, parts: impl IntoIterator<Item = (i64, u32)>) -> Vec<TimeSpan> {
    let mut now = Timestamp::from_micros(BASE);
    let mut spans = Vec::new();
    for (micros, count) in parts {
        let part = span(now, now.plus_micros(micros));
        now = part.end;
        calendar.observe(Some(part), now.day(), &gpus(count));
        spans.push(part);
    }
    spans
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_constant_capacity_is_exact(durations in proptest::collection::vec(1i64..40_000_000_000, 1..30)) {
        let mut calendar = CapacityCalendar::default();
        let constant = amounts(&[("cpu", "64.000000000001"), ("mem", "70368744177664")]);
        let mut now = Timestamp::from_micros(BASE);
        for micros in durations {
            let part = span(now, now.plus_micros(micros));
            now = part.end;
            calendar.observe(Some(part), now.day(), &constant);
        }
        for (_, known) in calendar.days() {
            prop_assert_eq!(&*known.capacity, &constant);
        }
    }

    #[test]
    fn the_mean_is_capacity_x_time_over_time(parts in observations()) {
        let mut calendar = CapacityCalendar::default();
        let spans = observe_all(&mut calendar, parts.iter().copied());
        for (day, known) in calendar.days().filter(|(_, c)| c.observed_micros > 0) {
            let whole = span(day.start(), day.plus(1).start());
            let (mut weighted, mut time) = (0u128, 0u128);
            for (part, (_, count)) in spans.iter().zip(&parts) {
                let micros = part.overlap(whole).map_or(0, |p| u128::from(p.micros()));
                weighted += micros * u128::from(*count);
                time += micros;
            }
            prop_assert_eq!(u128::from(known.observed_micros), time);
            // Half up.
            let exact = (weighted * 1_000_000_000_000 + time / 2) / time;
            let text = format!("{}.{:012}", exact / 1_000_000_000_000, exact % 1_000_000_000_000);
            let expected = amounts(&[("cuda.device", &text)]).filtered(|a| !a.is_zero());
            prop_assert_eq!(&*known.capacity, &expected);
        }
    }

    #[test]
    fn settled_days_never_change(
        parts in observations(), asked in proptest::collection::vec(-40i32..40, 1..10), later in 1u32..100
    ) {
        let mut calendar = CapacityCalendar::default();
        let spans = observe_all(&mut calendar, parts);
        let (first, last) = (spans[0].start.day(), spans[spans.len() - 1].end.day());
        let past: Vec<Day> = asked.iter().map(|d| first.plus(*d)).filter(|d| *d < last).collect();
        let settled: Vec<_> = past.iter().map(|d| calendar.settle(*d).map(|(c, _)| SlotAmounts::clone(&c))).collect();
        // More changes: new days, another capacity, more queries.
        let tomorrow = last.plus(1);
        let part = span(tomorrow.start(), tomorrow.plus(2).start());
        calendar.observe(Some(part), part.end.day(), &gpus(later));
        calendar.settle(first.plus(-50));
        calendar.insert(first.plus(-60), DayCapacity::fixed(CapacitySource::Given, Arc::new(gpus(later))));
        for (day, before) in past.iter().zip(settled) {
            prop_assert!(before.is_some());
            prop_assert_eq!(calendar.settle(*day).map(|(c, new)| (SlotAmounts::clone(&c), new)), before.map(|c| (c, false)));
        }
    }

    #[test]
    fn the_nearest_rule_is_its_definition(
        known in proptest::collection::btree_set(0i32..60, 1..8), asked in proptest::collection::vec(0i32..60, 1..12)
    ) {
        let mut calendar = CapacityCalendar::default();
        for day in &known {
            calendar.observe(None, Day(*day), &gpus(day.unsigned_abs() + 1));
        }
        for day in asked {
            let nearest = known.iter().min_by_key(|k| ((*k - day).abs(), **k)).expect("something is known");
            let settled = calendar.settle(Day(day)).map(|(c, _)| SlotAmounts::clone(&c));
            prop_assert_eq!(settled, Some(gpus(nearest.unsigned_abs() + 1)));
        }
    }
}
