//! Replays against a naive scheduler, and the laws of their schedulers.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::decimal::Amount;
use domain::identity;
use domain::ids::Member;
use domain::options::{FairShareOptions, FairshareOrder, SequenceMode};
use domain::replay::calibration::calibrate;
use domain::replay::history::{CapacityOffer, ReplayHistory, TraceJob, TraceUser};
use domain::replay::policy::ReplayPolicy;
use domain::replay::report::{JobStarts, PolicyOutcome, WaitFigures};
use domain::replay::schedulers::{self, SCHEDULERS};
use domain::replay::simulate;
use domain::replay::simulation::RuntimeEstimates;
use domain::sequencer::Sequencer;
use domain::slots::{SlotAmounts, SlotName};
use domain::time::{MICROS_PER_SECOND, Timestamp};

use crate::support::at as time;
use crate::support::dice::Dice;

const START: &str = "2026-01-01T00:00:00Z";
const CORES: u64 = 32;

fn cpu(count: u64) -> SlotAmounts {
    [(SlotName::new("cpu").unwrap(), Amount::whole(count))].into_iter().collect()
}

pub fn policy(scheduler: &str, order: FairshareOrder, mode: SequenceMode) -> ReplayPolicy {
    let options = FairShareOptions { order, sequence_mode: mode, ..FairShareOptions::default() };
    let sequencer = Sequencer::by_name(scheduler).unwrap();
    ReplayPolicy { name: scheduler.to_owned(), sequencer, options, weights: BTreeMap::new() }
}

pub fn fifo() -> ReplayPolicy {
    policy("fifo", FairshareOrder::Flat, SequenceMode::Plain)
}

/// Policies with different orders.
pub fn policies() -> Vec<ReplayPolicy> {
    use FairshareOrder::{Flat, Tiered};
    use SequenceMode::{Plain, Progressive};
    let named = [
        ("fifo", Flat, Plain),
        ("lifo", Flat, Plain),
        ("drf", Flat, Plain),
        ("drf", Flat, Progressive),
        ("slurm_fair_tree", Flat, Plain),
        ("slurm_classic", Flat, Plain),
    ];
    let fair = [Flat, Tiered].into_iter().flat_map(|order| [Plain, Progressive].map(|mode| ("fairshare", order, mode)));
    named.into_iter().chain(fair).map(|(name, order, mode)| policy(name, order, mode)).collect()
}

pub fn person(user: usize) -> TraceUser {
    let (name, project) = (format!("user-{user}"), format!("project-{}", user % 3));
    let member = Member { user: identity::user(&name), project: identity::project(&project) };
    TraceUser { member, user: name.into(), project: project.into(), domain: Arc::from(["a", "b"][user % 3 % 2]) }
}

/// A job: when it comes and how long it runs, in seconds, and its cores.
fn job(number: usize, owner: u32, at: i64, ran: u64, cores: u64) -> TraceJob {
    let submitted_at = time(START).plus_micros(at * MICROS_PER_SECOND);
    TraceJob {
        id: format!("{number:05}").into(),
        owner,
        size: u32::try_from(cores - 1).unwrap(),
        submitted_at,
        started_at: submitted_at,
        ran: ran * MICROS_PER_SECOND.unsigned_abs(),
        limit_seconds: None,
        priority: 0,
    }
}

fn history(jobs: Vec<TraceJob>) -> ReplayHistory {
    ReplayHistory {
        jobs,
        owners: (0..9).map(person).collect(),
        sizes: (1..=CORES).map(cpu).collect(),
        offers: vec![CapacityOffer { from: time(START), slots: cpu(CORES) }],
    }
}

/// Jobs of nine users that need about the whole capacity.
fn crowd(seed: u64, jobs: usize) -> ReplayHistory {
    let mut dice = Dice::seeded(seed);
    let mut at = 0;
    let jobs = (0..jobs).map(|number| {
        at += i64::try_from(dice.roll(400)).unwrap();
        let owner = u32::try_from(dice.roll(9)).unwrap();
        let cores = if dice.one_in(10) { 1 + dice.roll(CORES) } else { 1 + dice.roll(8) };
        job(number, owner, at, dice.roll(2_500), cores)
    });
    history(jobs.collect())
}

fn cores(history: &ReplayHistory, job: &TraceJob) -> u64 {
    u64::try_from(history.size(job).iter().next().unwrap().1.units() / Amount::ONE.units()).unwrap()
}

/// The most capacity that is used at a time. Jobs that end free theirs before others start.
fn most_taken(history: &ReplayHistory, starts: &[Option<Timestamp>]) -> u64 {
    let mut events = Vec::new();
    for (job, start) in history.jobs.iter().zip(starts) {
        let (start, cores) = (start.expect("the job started"), cores(history, job));
        if job.ran > 0 {
            events.extend([(start, 1, cores), (job.end(start), 0, cores)]);
        }
    }
    events.sort_unstable();
    let (mut taken, mut most) = (0, 0);
    for (_, starts, cores) in events {
        taken = if starts == 1 { taken + cores } else { taken - cores };
        most = most.max(taken);
    }
    most
}

/// Every job starts once those before it have started and enough capacity is free.
fn naive_fifo(history: &ReplayHistory) -> Vec<Option<Timestamp>> {
    let mut running: Vec<(Timestamp, u64)> = Vec::new();
    let mut last = time(START);
    let mut starts = Vec::new();
    for job in &history.jobs {
        let mut start = last.max(job.submitted_at);
        loop {
            running.retain(|(end, _)| *end > start);
            let taken: u64 = running.iter().map(|(_, cores)| cores).sum();
            if taken + cores(history, job) <= CORES {
                break;
            }
            start = running.iter().map(|(end, _)| *end).min().unwrap();
        }
        running.push((job.end(start), cores(history, job)));
        starts.push(Some(start));
        last = start;
    }
    starts
}

#[test]
fn the_trace_of_a_fifo_cluster_replays_to_its_own_starts() {
    for seed in 0..5 {
        let mut history = crowd(seed, 600);
        let really = naive_fifo(&history);
        for (job, start) in history.jobs.iter_mut().zip(&really) {
            job.started_at = start.unwrap();
        }
        let replayed = simulate(&history, &fifo(), schedulers::by_name("strict").unwrap(), RuntimeEstimates::Given);
        assert_eq!(replayed, really, "seed {seed}");
        let told = |starts: &[_]| PolicyOutcome::of(&history, &JobStarts { name: "", starts, policy: &fifo() });
        let (mut outcome, recorded) = (told(&replayed), told(&really));
        outcome.compare(&recorded);
        assert_eq!(outcome.wait_change, Some(0.0));
    }
}

#[test]
fn no_scheduler_takes_more_than_there_is_or_leaves_a_job() {
    let history = crowd(11, 500);
    for policy in policies() {
        for scheduler in SCHEDULERS {
            for estimates in [RuntimeEstimates::Given, RuntimeEstimates::Perfect] {
                let starts = simulate(&history, &policy, *scheduler, estimates);
                assert!(most_taken(&history, &starts) <= CORES, "{} {}", policy.name, scheduler.name());
                let early =
                    |(job, start): (&TraceJob, &Option<Timestamp>)| start.is_none_or(|start| start < job.submitted_at);
                assert!(!history.jobs.iter().zip(&starts).any(early));
                assert_eq!(starts, simulate(&history, &policy, *scheduler, estimates), "the same twice");
            }
        }
    }
}

/// The second at which each job starts.
fn started(history: &ReplayHistory, scheduler: &str, estimates: RuntimeEstimates) -> Vec<i64> {
    let starts = simulate(history, &fifo(), schedulers::by_name(scheduler).unwrap(), estimates);
    let seconds = |start: Option<Timestamp>| (start.unwrap().micros() - time(START).micros()) / MICROS_PER_SECOND;
    starts.into_iter().map(seconds).collect()
}

#[test]
fn schedulers_differ_in_who_may_overtake() {
    // One job leaves 12 cores free for 100 seconds; the next needs all. A short one and a long one follow.
    let history =
        history(vec![job(0, 0, 0, 100, 20), job(1, 1, 10, 50, 32), job(2, 2, 20, 60, 4), job(3, 3, 30, 500, 4)]);
    assert_eq!(started(&history, "strict", RuntimeEstimates::Perfect), [0, 100, 150, 150]);
    assert_eq!(started(&history, "skip", RuntimeEstimates::Perfect), [0, 530, 20, 30]);
    assert_eq!(started(&history, "easy", RuntimeEstimates::Perfect), [0, 100, 20, 150]);
}

#[test]
fn backfill_takes_what_the_reservation_leaves() {
    // The reserved job leaves 2 cores: a long job of 2 may start, one of 3 may not.
    let history =
        history(vec![job(0, 0, 0, 100, 20), job(1, 1, 10, 50, 30), job(2, 2, 20, 500, 3), job(3, 3, 30, 500, 2)]);
    assert_eq!(started(&history, "easy", RuntimeEstimates::Perfect), [0, 100, 150, 30]);
}

#[test]
fn capacity_that_comes_and_goes_is_kept_to() {
    let mut history = history(vec![job(0, 0, 0, 100, 16), job(1, 1, 10, 50, 16), job(2, 2, 20, 50, 20)]);
    let at = |seconds: i64| time(START).plus_micros(seconds * MICROS_PER_SECOND);
    history.offers = vec![
        CapacityOffer { from: at(0), slots: cpu(16) },
        CapacityOffer { from: at(1_000), slots: cpu(8) },
        CapacityOffer { from: at(5_000), slots: cpu(32) },
    ];
    assert_eq!(started(&history, "strict", RuntimeEstimates::Given), [0, 100, 5_000]);
}

#[test]
fn a_job_that_never_fits_is_told() {
    let mut history = history(vec![job(0, 0, 0, 100, 16), job(1, 1, 10, 50, 20)]);
    history.offers[0].slots = cpu(16);
    let starts = simulate(&history, &fifo(), schedulers::by_name("strict").unwrap(), RuntimeEstimates::Given);
    assert_eq!(starts[1], None);
    let outcome = PolicyOutcome::of(&history, &JobStarts { name: "", starts: &starts, policy: &fifo() });
    assert_eq!((outcome.never_started, outcome.figures.jobs), (1, 1));
}

#[test]
fn who_used_little_is_served_before_who_used_much() {
    // One user fills the cluster first; then both ask for all of it at the same time.
    let mut jobs = vec![job(0, 0, 0, 7_200, 32)];
    for number in 1..=4 {
        jobs.push(job(number, u32::from(number > 2), 3_600, 3_600, 32));
    }
    let history = history(jobs);
    let starts = |policy: &ReplayPolicy| -> Vec<i64> {
        let starts = simulate(&history, policy, schedulers::by_name("strict").unwrap(), RuntimeEstimates::Perfect);
        starts
            .iter()
            .map(|start| (start.unwrap().micros() - time(START).micros()) / 3_600 / MICROS_PER_SECOND)
            .collect()
    };
    assert_eq!(starts(&fifo()), [0, 2, 3, 4, 5]);
    for order in [FairshareOrder::Flat, FairshareOrder::Tiered] {
        assert_eq!(starts(&policy("fairshare", order, SequenceMode::Progressive)), [0, 4, 5, 2, 3]);
    }
    for scheduler in ["slurm_fair_tree", "slurm_classic"] {
        assert_eq!(starts(&policy(scheduler, FairshareOrder::Flat, SequenceMode::Plain)), [0, 4, 5, 2, 3]);
    }
}

#[test]
fn figures_by_hand() {
    // Two jobs of 10 minutes one after the other, of different users; the second waits for 5 minutes.
    let history = history(vec![job(0, 0, 0, 600, 32), job(1, 1, 300, 600, 32)]);
    let starts = simulate(&history, &fifo(), schedulers::by_name("strict").unwrap(), RuntimeEstimates::Given);
    let outcome = PolicyOutcome::of(&history, &JobStarts { name: "fifo", starts: &starts, policy: &fifo() });
    let WaitFigures { wait, bounded_slowdown, .. } = outcome.figures;
    assert_eq!((wait.mean, wait.median, wait.p95, bounded_slowdown), (150.0, 0.0, 300.0, 1.25));
    assert!((outcome.utilisation - 1.0).abs() < 1e-9, "{}", outcome.utilisation);
    let used: Vec<f64> = outcome.users.iter().map(|user| user.used_share).collect();
    assert_eq!(used.iter().filter(|used| (**used - 0.5).abs() < 1e-9).count(), 2);
    assert_eq!(outcome.days.len(), 1);
    // Both took what their equal weights give them.
    assert!(outcome.misallocated_share.user < 1e-9, "{:?}", outcome.misallocated_share);
}

/// Forecasts that know only the past are held against the starts that follow.
#[test]
fn forecasts_of_a_steady_crowd_are_as_good_as_they_say() {
    let mut history = crowd(3, 800);
    let mut dice = Dice::seeded(5);
    for job in &mut history.jobs {
        // People announce more than they need.
        job.limit_seconds = Some(job.ran_seconds() * u32::try_from(2 + dice.roll(6)).unwrap());
    }
    let policies = [policy("fairshare", FairshareOrder::Flat, SequenceMode::Plain), fifo()];
    for (policy, scheduler) in policies.iter().zip(["skip", "strict"]) {
        let scheduler = schedulers::by_name(scheduler).unwrap();
        let made = calibrate(&history, policy, scheduler, RuntimeEstimates::Given, 8);
        assert!(made.waited > 200 && made.known > 20, "{made:?}");
        assert!((0.6..=0.97).contains(&made.coverage.unwrap()), "{made:?}");
        assert!(made.median_error_seconds < made.announced_error_seconds, "{made:?}");
        let parts = [made.coverage, made.earlier, made.later].into_iter().sum::<Option<f64>>();
        assert!((parts.unwrap() - 1.0).abs() < 1e-9, "{made:?}");
        assert_eq!(made, calibrate(&history, policy, scheduler, RuntimeEstimates::Given, 8), "the same again");
    }
}

/// After the last submission the queue only empties, which no forecast can know.
#[test]
fn forecasts_beyond_the_end_of_a_history_are_counted_and_not_compared() {
    let compare = |history: &ReplayHistory| {
        calibrate(history, &fifo(), schedulers::by_name("strict").unwrap(), RuntimeEstimates::Given, 4)
    };
    let steady = crowd(3, 800);
    let end = steady.jobs.last().unwrap().submitted_at;
    // Jobs that take everything for two hours each: all but the first one or two start long after their submission.
    let mut crowded = steady.clone();
    crowded.jobs.extend((800..840).map(|number| TraceJob { submitted_at: end, ..job(number, 0, 0, 7_200, CORES) }));
    let (without, with) = (compare(&steady), compare(&crowded));
    assert!(without.known > without.beyond_history, "{without:?}");
    // The first of them may belong to those that are not compared either.
    assert!(with.known >= without.known + 9, "{with:?}");
    assert_eq!(with.known - with.beyond_history, without.known - without.beyond_history, "{with:?} {without:?}");
    assert_eq!((with.coverage, with.earlier, with.later), (without.coverage, without.earlier, without.later));
    assert_eq!(with.median_error_seconds, without.median_error_seconds);
    // Where all are beyond, there is nothing to say.
    let crowd = history((0..40).map(|number| job(number, 0, 0, 7_200, CORES)).collect());
    let made = compare(&crowd);
    assert_eq!((made.coverage, made.median_error_seconds, made.median_wait_seconds), (None, None, None), "{made:?}");
}
