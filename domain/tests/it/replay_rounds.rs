//! A replay starts what a cycle starts: its schedulers are held against the engine of cycles, round by round.

use domain::decimal::Amount;
use domain::replay::history::{CapacityOffer, ReplayHistory, TraceJob};
use domain::replay::schedulers::{self, SCHEDULERS};
use domain::replay::simulate;
use domain::replay::simulation::RuntimeEstimates;
use domain::slots::SlotAmounts;
use domain::time::{MICROS_PER_SECOND, Timestamp};
use proptest::prelude::*;

use crate::replays::{fifo, person, policies};
use crate::support::cycle_rounds::{ComparedReplay, compare_rounds};
use crate::support::dice::Dice;
use crate::support::{amounts, at, cases, slot};

const START: &str = "2026-01-01T00:00:00Z";

fn micros(dice: &mut Dice, seconds: u64) -> i64 {
    let whole = i64::try_from(dice.roll(seconds)).unwrap() * MICROS_PER_SECOND;
    let part = if dice.one_in(3) { i64::try_from(dice.roll(1_000_000)).unwrap() } else { 0 };
    whole + part
}

fn size(dice: &mut Dice) -> SlotAmounts {
    let names: &[&str] = dice.pick(&[&["cpu"][..], &["cpu", "gpu"], &["gpu"], &["cpu", "gpu", "licence"]]);
    names.iter().map(|name| (slot(name), Amount::whole(dice.roll(if *name == "cpu" { 9 } else { 4 })))).collect()
}

/// The capacities of a cluster: nodes may leave it and come back.
fn offers(dice: &mut Dice, changes: u64) -> Vec<CapacityOffer> {
    let mut from = at(START).plus_micros(-MICROS_PER_SECOND);
    let mut offers = vec![CapacityOffer { from, slots: amounts(&[("cpu", "8"), ("gpu", "4")]) }];
    for _ in 0..changes {
        from = from.plus_micros(micros(dice, 800) + 1);
        let cpu = *dice.item(&["8", "8", "5", "2"]);
        offers.push(CapacityOffer { from, slots: amounts(&[("cpu", cpu), ("gpu", *dice.item(&["4", "4", "0"]))]) });
    }
    let back = CapacityOffer { from: from.plus_micros(600 * MICROS_PER_SECOND), slots: offers[0].slots.clone() };
    offers.push(back);
    offers
}

/// Jobs of six users that come about as fast as they end. Half of them say how long they will run, rightly or not.
fn jobs(dice: &mut Dice, sizes: u32) -> Vec<TraceJob> {
    let mut submitted_at = at(START);
    let count = 5 + dice.roll(40);
    let mut job = |number: u64| {
        if !dice.one_in(4) {
            submitted_at = submitted_at.plus_micros(micros(dice, 60));
        }
        let ran = if dice.one_in(10) { 0 } else { micros(dice, 200).unsigned_abs() };
        let limit_seconds = dice.one_in(2).then(|| u32::try_from(dice.roll(250)).unwrap());
        TraceJob {
            id: format!("{number:03}").into(),
            owner: u32::try_from(dice.roll(6)).unwrap(),
            size: u32::try_from(dice.roll(sizes.into())).unwrap(),
            submitted_at,
            started_at: submitted_at,
            ran,
            limit_seconds,
            priority: i32::try_from(dice.roll(2)).unwrap(),
        }
    };
    (0..count).map(&mut job).collect()
}

fn history(dice: &mut Dice, changes: u64) -> ReplayHistory {
    let sizes: Vec<SlotAmounts> = (0..8).map(|_| size(dice)).collect();
    let jobs = jobs(dice, 8);
    ReplayHistory { jobs, owners: (0..6).map(person).collect(), sizes, offers: offers(dice, changes) }
}

fn compare(seed: u64) -> ComparedReplay {
    let mut dice = Dice::seeded(seed);
    let changes = dice.roll(4);
    let history = history(&mut dice, changes);
    let mut policy = dice.item(&policies()).clone();
    // Runs come often, so that orders and estimates change within the history.
    policy.options.slice_interval_seconds = 60;
    let scheduler = *dice.item(SCHEDULERS);
    let estimates = *dice.item(&[RuntimeEstimates::Given, RuntimeEstimates::Perfect]);
    let compared = compare_rounds(&history, &policy, scheduler, estimates);
    assert_eq!(compared.starts, simulate(&history, &policy, scheduler, estimates), "the looks change nothing");
    compared
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_round_starts_what_a_cycle_starts(seed in any::<u64>()) {
        compare(seed);
    }

    #[test]
    fn no_job_starts_after_its_reserved_time(seed in any::<u64>()) {
        assert_reserved_times_are_kept(seed);
    }
}

/// A job that runs on for less than a second must not count as one that ends a second from now: another job of a second would
/// delay the reserved one.
#[test]
fn reserved_times_that_once_passed_are_kept() {
    for seed in [7_965_408_771_619_146_235, 9_316_623_599_496_512_096, 911_412_326_305_581_739] {
        assert_reserved_times_are_kept(seed);
    }
}

fn assert_reserved_times_are_kept(seed: u64) {
    let history = history(&mut Dice::seeded(seed), 0);
    let easy = schedulers::by_name("easy").unwrap();
    let ComparedReplay { reservations, starts, .. } =
        compare_rounds(&history, &fifo(), easy, RuntimeEstimates::Perfect);
    for (job, reserved) in reservations {
        let start = starts[job as usize];
        let is_kept = start.is_some_and(|start| start <= reserved);
        assert!(is_kept, "{seed}: {job} starts at {start:?}, not {reserved}: {history:?}");
    }
}

/// The order `drf` charges by the capacity of the day, which a run had not yet recorded when the order was asked for. The other
/// orders count a job that names no slot of that day as one of each, but its kernel as nothing.
#[test]
fn rounds_that_once_differed_start_what_a_cycle_starts() {
    for seed in [7_079_061_101_214_018_764, 4_464_264_224_512_800_457, 1_478_297_498_058_635_394] {
        compare(seed);
    }
}

#[test]
fn the_random_histories_have_all_that_schedulers_differ_in() {
    let mut all = ComparedReplay::default();
    for compared in (0..200).map(compare) {
        all.rounds += compared.rounds;
        all.divided += compared.divided;
        all.overtaken += compared.overtaken;
        all.reserved += compared.reserved;
        all.too_large += compared.too_large;
    }
    let least = [all.rounds / 40, all.divided / 8, all.overtaken, all.reserved / 8, all.too_large / 8];
    assert!(least.iter().all(|count| *count > 50), "{all:?}");
}

/// The second at which each job starts.
fn starts(history: &ReplayHistory, scheduler: &str) -> Vec<Option<i64>> {
    let scheduler = schedulers::by_name(scheduler).unwrap();
    let starts = simulate(history, &fifo(), scheduler, RuntimeEstimates::Given);
    let second = |start: Timestamp| (start.micros() - at(START).micros()) / MICROS_PER_SECOND;
    starts.into_iter().map(|start| start.map(second)).collect()
}

/// A job of the user with the same number, which says that it will run for `limit` seconds.
fn job(number: u32, submitted: i64, ran: u64, limit: u32) -> TraceJob {
    let submitted_at = at(START).plus_micros(submitted * MICROS_PER_SECOND);
    TraceJob {
        id: number.to_string().into(),
        owner: number,
        size: number,
        submitted_at,
        started_at: submitted_at,
        ran: ran * MICROS_PER_SECOND.unsigned_abs(),
        limit_seconds: Some(limit),
        priority: 0,
    }
}

fn cluster(jobs: Vec<TraceJob>, sizes: &[&str]) -> ReplayHistory {
    ReplayHistory {
        jobs,
        owners: (0..6).map(person).collect(),
        sizes: sizes.iter().map(|cpu| amounts(&[("cpu", cpu)])).collect(),
        offers: vec![CapacityOffer { from: at(START), slots: amounts(&[("cpu", "8")]) }],
    }
}

#[test]
fn a_job_that_has_outlived_its_expected_time_ends_a_second_from_now() {
    // The first job has said 10 seconds and runs for 100. A job of a second ends by the time that is reserved for the second one.
    let jobs = vec![job(0, 0, 100, 10), job(1, 20, 50, 50), job(2, 30, 1, 1), job(3, 40, 2, 2)];
    let history = cluster(jobs, &["7", "8", "1", "1"]);
    assert_eq!(starts(&history, "easy"), [Some(0), Some(100), Some(30), Some(150)]);
}

#[test]
fn a_job_that_is_too_large_for_the_nodes_that_are_left_keeps_no_place() {
    let mut history = cluster(vec![job(0, 0, 10, 10), job(1, 20, 10, 10), job(2, 30, 10, 10)], &["8", "8", "2"]);
    let at = |seconds: i64| at(START).plus_micros(seconds * MICROS_PER_SECOND);
    history.offers.push(CapacityOffer { from: at(15), slots: amounts(&[("cpu", "4")]) });
    history.offers.push(CapacityOffer { from: at(500), slots: amounts(&[("cpu", "8")]) });
    for scheduler in ["strict", "skip", "easy"] {
        assert_eq!(starts(&history, scheduler), [Some(0), Some(500), Some(30)], "{scheduler}");
    }
}

#[test]
fn a_job_that_asks_for_nothing_waits_for_no_other() {
    let history = cluster(vec![job(0, 0, 10, 10), job(1, 1, 10, 10), job(2, 2, 10, 10)], &["5", "5", "0"]);
    assert_eq!(starts(&history, "strict"), [Some(0), Some(10), Some(2)]);
}
