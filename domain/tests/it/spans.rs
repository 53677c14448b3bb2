//! Instants, days and spans: no cut ever loses or invents time (FAIR_SHARE §3).

use domain::time::{Day, MICROS_PER_DAY, TimeSpan, Timestamp};
use proptest::prelude::*;

use crate::support::{at, cases, day, span};

fn total(parts: &[TimeSpan]) -> u64 {
    parts.iter().map(|p| p.micros()).sum()
}

#[test]
fn a_span_is_cut_at_midnight_utc() {
    let night = span(at("2026-01-13T23:50:00Z"), at("2026-01-15T00:10:00Z"));
    let parts: Vec<TimeSpan> = night.by_day().collect();
    assert_eq!(
        parts,
        [
            span(at("2026-01-13T23:50:00Z"), at("2026-01-14T00:00:00Z")),
            span(at("2026-01-14T00:00:00Z"), at("2026-01-15T00:00:00Z")),
            span(at("2026-01-15T00:00:00Z"), at("2026-01-15T00:10:00Z")),
        ]
    );
    // One that ends at midnight lies in one day only.
    assert_eq!(span(at("2026-01-13T23:50:00Z"), at("2026-01-14T00:00:00Z")).by_day().count(), 1);
}

#[test]
fn the_end_of_time_ends() {
    let last = span(at("9999-12-30T12:00:00Z"), Timestamp::MAX);
    assert_eq!(last.by_day().count(), 2);
    assert_eq!(total(&last.by_day().collect::<Vec<_>>()), last.micros());
    assert_eq!(Timestamp::MAX.day(), Day::MAX);
    assert_eq!(Timestamp::MAX.plus_micros(i64::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::EPOCH.plus_micros(i64::MIN), Timestamp::EPOCH);
    assert_eq!(Day(i32::MAX).plus(1).start(), Timestamp::MAX);
    assert_eq!(Day(i32::MIN).plus(-1).start(), Timestamp::EPOCH);
    assert_eq!(Day(i32::MAX).days_since(Day(i32::MIN)), i32::MAX);
}

#[test]
fn times_are_rfc_3339_in_microseconds() {
    for (text, printed) in [
        ("2026-01-13T10:00:00Z", "2026-01-13T10:00:00Z"),
        ("2026-01-13T10:00:00+09:00", "2026-01-13T01:00:00Z"),
        ("2026-01-13T10:00:00", "2026-01-13T10:00:00Z"),
        ("2026-01-13T10:00:00.123456789Z", "2026-01-13T10:00:00.123456Z"),
        ("2026-01-13T10:00:00.5Z", "2026-01-13T10:00:00.500000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ] {
        assert_eq!(text.parse::<Timestamp>().map(|t| t.to_string()).as_deref(), Ok(printed));
    }
    for text in [
        "",
        "now",
        "2026-01-13",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-13T25:00:00Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "+10000-01-01T00:00:00Z",
        "1768298400",
    ] {
        assert!(text.parse::<Timestamp>().is_err(), "{text}");
    }
}

#[test]
fn days_are_written_one_way() {
    for text in ["1970-01-01", "2026-01-13", "2024-02-29", "9999-12-31"] {
        assert_eq!(day(text).to_string(), text);
    }
    for text in [
        "",
        "2026-1-13",
        " 2026-01-13",
        "2026- 01-13",
        "+2026-01-13",
        "2026-02-29",
        "1969-12-31",
        "2026-01-13Z",
        "tomorrow",
    ] {
        assert!(text.parse::<Day>().is_err(), "{text}");
    }
    assert_eq!(Day::from(day("2024-02-29").to_date()), day("2024-02-29"));
}

/// A time in 2026, with microseconds.
fn moment() -> impl Strategy<Value = i64> {
    (0..40 * MICROS_PER_DAY).prop_map(|m| 20_454 * MICROS_PER_DAY + m)
}

fn ordered(a: i64, b: i64) -> Option<TimeSpan> {
    TimeSpan::new(Timestamp::from_micros(a.min(b)), Timestamp::from_micros(a.max(b)))
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn days_partition_a_span(a in moment(), b in moment()) {
        let Some(whole) = ordered(a, b) else { return Ok(()) };
        let parts: Vec<TimeSpan> = whole.by_day().collect();
        prop_assert_eq!(parts[0].start, whole.start);
        prop_assert_eq!(parts[parts.len() - 1].end, whole.end);
        for pair in parts.windows(2) {
            prop_assert_eq!(pair[0].end, pair[1].start);
            prop_assert_eq!(pair[0].end.micros() % MICROS_PER_DAY, 0);
        }
        for part in &parts {
            prop_assert_eq!(part.start.day(), part.end.plus_micros(-1).day());
        }
        prop_assert_eq!(total(&parts), whole.micros());
    }

    #[test]
    fn holes_and_the_rest_make_the_whole(
        a in moment(), b in moment(), mut cuts in proptest::collection::vec(moment(), 0..8)
    ) {
        let Some(whole) = ordered(a, b) else { return Ok(()) };
        cuts.sort_unstable();
        let holes: Vec<TimeSpan> = cuts.chunks_exact(2).filter_map(|c| ordered(c[0], c[1])).collect();
        let kept = whole.without(&holes);
        let lost: Vec<TimeSpan> = holes.iter().filter_map(|h| h.overlap(whole)).collect();
        prop_assert_eq!(total(&kept) + total(&lost), whole.micros());
        for part in &kept {
            prop_assert_eq!(part.overlap(whole), Some(*part));
            prop_assert!(holes.iter().all(|h| h.overlap(*part).is_none()));
        }
        prop_assert!(kept.windows(2).all(|pair| pair[0].end < pair[1].start));
    }
}
