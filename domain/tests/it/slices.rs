//! The slices that a run records of a kernel (FAIR_SHARE §3), and the effect of downtime on them (FAIR_SHARE §4).

use domain::slice::{GapPolicy, RunParameters, plan};
use domain::slots::SlotUsages;
use domain::time::{MICROS_PER_HOUR, TimeSpan, Timestamp};
use proptest::prelude::*;

use crate::support::{amounts, at, cases, clock, span, usages};

/// A kernel, the runs that recorded it, and the results of these.
#[derive(Debug, Default)]
struct Life {
    cursor: Option<Timestamp>,
    recorded: Vec<TimeSpan>,
    dropped: Vec<TimeSpan>,
}

impl Life {
    fn run(&mut self, started_at: Timestamp, terminated_at: Option<Timestamp>, run: &RunParameters) -> bool {
        let Some(slices) = plan(started_at, terminated_at, self.cursor, run) else { return false };
        self.recorded.extend(slices.recorded());
        self.dropped.extend(&slices.dropped);
        self.cursor = Some(slices.cursor);
        slices.settled
    }

    fn recorded_micros(&self) -> u64 {
        self.recorded.iter().map(|s| s.micros()).sum()
    }
}

fn undisturbed(now: Timestamp) -> RunParameters<'static> {
    RunParameters { now, gap_policy: GapPolicy::Interpolate, max_gap_hours: 24, downtimes: &[] }
}

fn after(now: Timestamp, gap_policy: GapPolicy, downtimes: &[TimeSpan]) -> RunParameters<'_> {
    RunParameters { now, gap_policy, max_gap_hours: 24, downtimes }
}

#[test]
fn the_proposals_kernel_leaves_five_records() {
    let mut life = Life::default();
    for tick in ["10:05", "10:10", "10:15", "10:20"] {
        assert!(!life.run(clock("10:00"), None, &undisturbed(clock(tick))));
    }
    assert!(life.run(clock("10:00"), Some(clock("10:23")), &undisturbed(clock("10:25"))));
    let expected = ["10:00", "10:05", "10:10", "10:15", "10:20", "10:23"].map(clock);
    let expected: Vec<TimeSpan> = expected.windows(2).map(|pair| span(pair[0], pair[1])).collect();
    assert_eq!(life.recorded, expected);
    assert_eq!(life.cursor, Some(clock("10:23")));
}

#[test]
fn usage_is_amount_times_seconds() {
    let usage = |start, end, slots: &[(&str, &str)]| amounts(slots).for_micros(span(clock(start), clock(end)).micros());
    let k1 = usage("10:00", "10:30", &[("cpu", "5"), ("mem", "10"), ("cuda.shares", "1")]);
    let k2 = usage("10:15", "10:45", &[("cpu", "2"), ("mem", "3"), ("cuda.shares", "3")]);
    let k3 = usage("14:00", "15:00", &[("cpu", "2"), ("mem", "1")]);
    assert_eq!(k1, usages(&[("cpu", "9000"), ("mem", "18000"), ("cuda.shares", "1800")]));
    assert_eq!(k2, usages(&[("cpu", "3600"), ("mem", "5400"), ("cuda.shares", "5400")]));
    assert_eq!(k3, usages(&[("cpu", "7200"), ("mem", "3600")]));
    let mut day = SlotUsages::default();
    for kernel in [&k1, &k2, &k3] {
        day.add(kernel);
    }
    assert_eq!(day, usages(&[("cpu", "19800"), ("mem", "27000"), ("cuda.shares", "7200")]));
}

#[test]
fn the_proposals_gap_under_both_policies() {
    let down = [span(clock("10:05"), clock("10:25"))];
    for (policy, recorded, dropped) in [
        (GapPolicy::Interpolate, span(clock("10:05"), clock("10:30")), vec![]),
        (GapPolicy::Ignore, span(clock("10:25"), clock("10:30")), down.to_vec()),
    ] {
        let slices =
            plan(clock("10:00"), None, Some(clock("10:05")), &after(clock("10:30"), policy, &down)).expect("slices");
        assert_eq!(slices.recorded().collect::<Vec<_>>(), [recorded]);
        assert_eq!(slices.dropped, dropped);
        assert_eq!(slices.cursor, clock("10:30"));
        assert!(slices.spanned_downtime && !slices.settled);
    }
}

#[test]
fn time_before_a_downtime_that_no_run_recorded_is_kept_by_both_policies() {
    let down = [span(clock("10:07"), clock("10:25"))];
    let run = after(clock("10:30"), GapPolicy::Ignore, &down);
    let slices = plan(clock("10:00"), None, Some(clock("10:05")), &run).expect("slices");
    let kept: Vec<TimeSpan> = slices.recorded().collect();
    assert_eq!(kept, [span(clock("10:05"), clock("10:07")), span(clock("10:25"), clock("10:30"))]);
    assert_eq!(slices.dropped, down);
}

#[test]
fn a_first_slice_is_never_a_gap() {
    let down = [span(clock("10:05"), clock("10:25"))];
    for policy in [GapPolicy::Interpolate, GapPolicy::Ignore] {
        for start in ["10:00", "10:10"] {
            let slices = plan(clock(start), None, None, &after(clock("10:30"), policy, &down)).expect("slices");
            assert_eq!(slices.recorded().collect::<Vec<_>>(), [span(clock(start), clock("10:30"))]);
            assert!(slices.dropped.is_empty() && !slices.spanned_downtime);
        }
    }
}

#[test]
fn a_kernel_that_ended_inside_an_ignored_downtime_is_settled_without_a_slice() {
    let down = [span(clock("10:05"), clock("10:25"))];
    let run = after(clock("10:30"), GapPolicy::Ignore, &down);
    let slices = plan(clock("10:00"), Some(clock("10:15")), Some(clock("10:05")), &run).expect("a plan");
    assert_eq!(slices.recorded().count(), 0);
    assert_eq!(slices.dropped, [span(clock("10:05"), clock("10:15"))]);
    assert_eq!((slices.cursor, slices.settled), (clock("10:15"), true));
}

#[test]
fn a_long_downtime_is_interpolated_for_max_gap_hours_only() {
    let (last, start, now) = (at("2026-01-10T10:00:00Z"), at("2026-01-12T21:55:00Z"), at("2026-01-12T22:00:00Z"));
    let down = [span(last, start)];
    let run = after(now, GapPolicy::Interpolate, &down);
    let slices = plan(at("2026-01-09T00:00:00Z"), None, Some(last), &run).expect("slices");
    assert_eq!(slices.recorded().collect::<Vec<_>>(), [span(at("2026-01-11T22:00:00Z"), now)]);
    assert_eq!(slices.dropped, [span(last, at("2026-01-11T22:00:00Z"))]);

    // It ended before the reach: everything since the cursor is dropped, and it is never met again.
    let ended = at("2026-01-11T00:00:00Z");
    let slices = plan(at("2026-01-09T00:00:00Z"), Some(ended), Some(last), &run).expect("a plan");
    assert_eq!(slices.recorded().count(), 0);
    assert_eq!(slices.dropped, [span(last, ended)]);
    assert_eq!((slices.cursor, slices.settled), (ended, true));

    let ignore = plan(at("2026-01-09T00:00:00Z"), None, Some(last), &after(now, GapPolicy::Ignore, &down));
    assert_eq!(ignore.expect("slices").recorded().collect::<Vec<_>>(), [span(start, now)]);
}

#[test]
fn a_late_run_without_downtime_records_everything() {
    let start = at("2026-01-01T00:00:00Z");
    let slices = plan(start, None, Some(start), &undisturbed(at("2026-01-10T00:00:00Z"))).expect("slices");
    assert_eq!(slices.recorded().collect::<Vec<_>>(), [span(start, at("2026-01-10T00:00:00Z"))]);
    assert!(slices.dropped.is_empty());
}

#[test]
fn nothing_to_record_is_nothing_done() {
    // Running, but the clock stands still, went back, or has not reached the start.
    assert_eq!(plan(clock("10:00"), None, Some(clock("10:05")), &undisturbed(clock("10:05"))), None);
    assert_eq!(plan(clock("10:00"), None, Some(clock("10:05")), &undisturbed(clock("09:00"))), None);
    assert_eq!(plan(clock("10:00"), None, None, &undisturbed(clock("09:00"))), None);
    assert_eq!(plan(clock("10:00"), Some(clock("10:30")), None, &undisturbed(clock("09:00"))), None);
    // Ended with everything recorded, or at once: the cursor moves to the end.
    for cursor in [None, Some(clock("10:00"))] {
        let settled = plan(clock("10:00"), Some(clock("10:00")), cursor, &undisturbed(clock("10:05"))).expect("a plan");
        assert_eq!((settled.recorded().count(), settled.cursor, settled.settled), (0, clock("10:00"), true));
    }
    // An end that is announced for later is not reached yet.
    let slices = plan(clock("10:00"), Some(clock("10:30")), None, &undisturbed(clock("10:05"))).expect("slices");
    assert_eq!((slices.cursor, slices.settled), (clock("10:05"), false));
}

#[test]
fn a_rescheduled_kernel_is_two_kernels() {
    let (mut first, mut second) = (Life::default(), Life::default());
    first.run(clock("10:00"), Some(clock("10:15")), &undisturbed(clock("10:20")));
    second.run(clock("10:16"), None, &undisturbed(clock("10:20")));
    assert_eq!(first.recorded, [span(clock("10:00"), clock("10:15"))]);
    assert_eq!(second.recorded, [span(clock("10:16"), clock("10:20"))]);
}

#[test]
fn policies_have_names() {
    for policy in [GapPolicy::Interpolate, GapPolicy::Ignore] {
        assert_eq!(policy.as_str().parse(), Ok(policy));
    }
    assert_eq!("Ignore".parse::<GapPolicy>(), Err(()));
    assert_eq!(GapPolicy::default(), GapPolicy::Interpolate);
}

const BASE: i64 = 1_768_000_000_000_000;
const LONGEST: i64 = 60 * MICROS_PER_HOUR;

fn moment() -> impl Strategy<Value = Timestamp> {
    // Coarse and fine steps, so that ends, ticks and downtimes also meet exactly.
    prop_oneof![(0..60i64).prop_map(|h| h * MICROS_PER_HOUR), 0..LONGEST]
        .prop_map(|offset| Timestamp::from_micros(BASE + offset))
}

prop_compose! {
    fn kernel()(started_at in moment(), end in proptest::option::of(moment())) -> (Timestamp, Option<Timestamp>) {
        (started_at, end.map(|e| e.max(started_at)))
    }
}

fn downtimes() -> impl Strategy<Value = Vec<TimeSpan>> {
    proptest::collection::vec(moment(), 0..7).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts.chunks_exact(2).filter_map(|c| TimeSpan::new(c[0], c[1])).collect()
    })
}

fn policy() -> impl Strategy<Value = GapPolicy> {
    prop_oneof![Just(GapPolicy::Interpolate), Just(GapPolicy::Ignore)]
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn recorded_and_dropped_make_the_whole(
        (started_at, end) in kernel(), since in proptest::option::of(moment()), now in moment(),
        down in downtimes(), gap_policy in policy(), max_gap_hours in 0u32..50,
    ) {
        let cursor = since.map(|c| c.max(started_at)).filter(|c| end.is_none_or(|e| *c <= e));
        let run = RunParameters { now, gap_policy, max_gap_hours, downtimes: &down };
        let from = cursor.unwrap_or(started_at);
        let until = end.map_or(now, |e| e.min(now));
        let whole = TimeSpan::new(from, until);
        let Some(slices) = plan(started_at, end, cursor, &run) else {
            prop_assert!(whole.is_none() && end.is_none_or(|e| e > now));
            return Ok(());
        };
        prop_assert_eq!(slices.cursor, until);
        prop_assert_eq!(slices.settled, end.is_some_and(|e| e <= now));
        let mut parts: Vec<TimeSpan> = slices.recorded().chain(slices.dropped.iter().copied()).collect();
        parts.sort_unstable_by_key(|p| p.start);
        let mut reached = from;
        for part in &parts {
            prop_assert_eq!(part.start, reached);
            reached = part.end;
        }
        prop_assert_eq!(reached, whole.map_or(from, |w| w.end));
        if gap_policy == GapPolicy::Ignore && cursor.is_some() {
            prop_assert!(slices.recorded().all(|s| down.iter().all(|d| d.overlap(s).is_none())));
            prop_assert!(slices.dropped.iter().all(|s| down.iter().any(|d| d.overlap(*s) == Some(*s))));
        }
        // The same run again has nothing left to do.
        let again = plan(started_at, end, Some(slices.cursor), &run);
        prop_assert!(again.is_none_or(|s| s.recorded().count() == 0 && s.dropped.is_empty() && s.cursor == slices.cursor));
    }

    #[test]
    fn any_ticks_record_what_one_run_would(
        (started_at, end) in kernel(), mut ticks in proptest::collection::vec(moment(), 1..12),
        gap_policy in policy(), max_gap_hours in 0u32..50,
    ) {
        ticks.sort_unstable();
        let last = ticks[ticks.len() - 1];
        let run = |now| RunParameters { now, gap_policy, max_gap_hours, downtimes: &[] };
        let (mut many, mut one) = (Life::default(), Life::default());
        for tick in &ticks {
            // Each run twice: the second is a no-op.
            many.run(started_at, end, &run(*tick));
            many.run(started_at, end, &run(*tick));
        }
        one.run(started_at, end, &run(last));
        prop_assert_eq!(many.recorded_micros(), one.recorded_micros());
        prop_assert_eq!(many.cursor, one.cursor);
        prop_assert!(many.recorded.windows(2).all(|pair| pair[0].end == pair[1].start));
        prop_assert!(many.dropped.is_empty());
    }

    #[test]
    fn a_clock_that_jumps_back_never_records_twice(
        (started_at, end) in kernel(), ticks in proptest::collection::vec(moment(), 1..12),
        down in downtimes(), gap_policy in policy(), max_gap_hours in 0u32..50,
    ) {
        let mut life = Life::default();
        for now in &ticks {
            let before = life.cursor;
            life.run(started_at, end, &RunParameters { now: *now, gap_policy, max_gap_hours, downtimes: &down });
            prop_assert!(life.cursor >= before);
        }
        let parts: Vec<TimeSpan> = life.recorded.iter().chain(&life.dropped).copied().collect();
        let latest = ticks.iter().copied().max().expect("a tick");
        let seen = end.map_or(latest, |e| e.min(latest));
        // Disjoint parts that add up to all the time that any run saw.
        for (at, part) in parts.iter().enumerate() {
            prop_assert!(parts[at + 1..].iter().all(|other| other.overlap(*part).is_none()));
        }
        let total: u64 = parts.iter().map(|p| p.micros()).sum();
        prop_assert_eq!(total, TimeSpan::new(started_at, seen).map_or(0, TimeSpan::micros));
    }
}
