//! Forecasts of starts: worked examples with run times that are known, and the test on histories.

use std::sync::Arc;

use domain::cycle::BackfillMode;
use domain::decimal::Amount;
use domain::factor::DecayedHistory;
use domain::forecast::{
    DRAWS, ForecastAgent, ForecastInput, ForecastMember, ForecastRunning, ForecastWorkload, JobClass, OwnerOrder,
    OwnerShares, PastSubmission, RunTimeModel, RunTimeSource, StartForecast, UnknownStart, WorkloadKind,
};
use domain::hierarchy::{Hierarchy, Share};
use domain::identity;
use domain::ids::Member;
use domain::options::FairShareOptions;
use domain::slots::{SlotAmounts, SlotName};
use domain::time::{MICROS_PER_SECOND, Timestamp};
use domain::weight::{EffectiveWeight, Weight};

use crate::support::at as time;

const NOW: &str = "2026-03-02T12:00:00Z";
const SEED: u64 = 7;

fn cpu(count: u64) -> SlotAmounts {
    [(SlotName::new("cpu").unwrap(), Amount::whole(count))].into_iter().collect()
}

fn owner(name: &str) -> Member {
    Member { user: identity::user(name), project: identity::project("p") }
}

fn later(seconds: i64) -> Timestamp {
    time(NOW).plus_micros(seconds * MICROS_PER_SECOND)
}

/// Twenty jobs of each owner and of each size, an eighth of the capacity to all of it, that ran for the given seconds.
fn model(ran: &[(&str, f64)]) -> RunTimeSource {
    let mut model = RunTimeModel::default();
    for (name, seconds) in ran {
        for (cores, _) in (1..=8).flat_map(|cores| (0..20).map(move |again| (cores, again))) {
            model.add(owner(name), JobClass::of(&cpu(cores), &cpu(8), None), None, *seconds);
        }
    }
    RunTimeSource::Learned(Arc::new(model))
}

/// Single members of one to eight cores: the kind `n` asks for `n + 1`.
fn kinds() -> Vec<WorkloadKind> {
    (1..=8).map(|cores| gang(1, 1, cores, &[])).collect()
}

fn gang(count: u32, minimum: u32, cores: u64, queues: &[usize]) -> WorkloadKind {
    let member = ForecastMember { slots: cpu(cores), count, admitted: None };
    WorkloadKind { members: vec![member], minimum, queues: Arc::from(queues) }
}

fn waits(name: &str, kind: usize) -> ForecastWorkload {
    ForecastWorkload { owner: owner(name), kind, asked_seconds: None, expected_seconds: None }
}

/// A running workload on the first agent that has run for `elapsed` seconds.
fn runs(name: &str, cores: u64, elapsed: i64) -> ForecastRunning {
    ForecastRunning {
        owner: owner(name),
        started_at: later(-elapsed),
        asked_seconds: None,
        expected_seconds: None,
        members: vec![(0, cpu(cores))],
        queues: Arc::default(),
    }
}

/// A cluster of agents with four cores each.
fn cluster(agents: usize, running: Vec<ForecastRunning>, waiting: Vec<ForecastWorkload>) -> ForecastInput {
    let agent = || ForecastAgent { slots: cpu(4), is_schedulable: true };
    ForecastInput {
        now: time(NOW),
        capacity: cpu(4 * agents as u64),
        agents: (0..agents).map(|_| agent()).collect(),
        queue_limits: Vec::new(),
        kinds: kinds(),
        running,
        waiting,
        past: Vec::new(),
        past_from: time(NOW),
        run_times: model(&[("ann", 100.0), ("bob", 1_000.0), ("carl", 10.0)]),
        backfill: BackfillMode::Skip,
        order: OwnerOrder::Fixed,
    }
}

/// The seconds until the start, as the 50th percentile says; run times are known to a tenth.
fn seconds(forecast: StartForecast) -> f64 {
    let known = forecast.known().unwrap_or_else(|| panic!("{forecast:?}"));
    assert!(known.p10 <= known.p50 && known.p50 <= known.p90, "{known:?}");
    (known.p50.micros() - time(NOW).micros()) as f64 / MICROS_PER_SECOND as f64
}

fn medians(input: &ForecastInput) -> Vec<f64> {
    input.forecast_starts(SEED, DRAWS).into_iter().map(seconds).collect()
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 10.0 + expected * 0.12, "{found} instead of {expected}");
}

#[test]
fn a_workload_starts_when_those_that_hold_its_room_end() {
    let input = cluster(1, vec![runs("ann", 4, 40)], vec![waits("ann", 3), waits("bob", 3), waits("ann", 3)]);
    let found = medians(&input);
    for (found, expected) in found.iter().zip([60.0, 160.0, 1_160.0]) {
        assert_near(*found, expected);
    }
}

#[test]
fn a_workload_with_room_starts_now() {
    assert_eq!(medians(&cluster(1, vec![runs("ann", 2, 40)], vec![waits("ann", 1)])), [0.0]);
}

#[test]
fn the_same_input_and_seed_give_the_same_forecast() {
    let input = cluster(1, vec![runs("ann", 4, 40)], vec![waits("bob", 3), waits("ann", 3)]);
    assert_eq!(input.forecast_starts(SEED, DRAWS), input.forecast_starts(SEED, DRAWS));
    assert_ne!(input.forecast_starts(SEED, DRAWS), input.forecast_starts(SEED + 1, DRAWS));
}

#[test]
fn the_forecast_of_one_workload_is_that_among_all() {
    let input = cluster(1, vec![runs("ann", 4, 40)], vec![waits("ann", 3), waits("bob", 3)]);
    assert_eq!(input.forecast_some(0..1, SEED, DRAWS)[..], input.forecast_starts(SEED, DRAWS)[..1]);
    assert_eq!(input.forecast_some(1..1, SEED, DRAWS), []);
}

#[test]
fn nothing_is_said_without_ended_jobs() {
    let few = RunTimeSource::Learned(Arc::new(RunTimeModel::default()));
    let input = ForecastInput { run_times: few, ..cluster(1, vec![], vec![waits("ann", 0)]) };
    assert_eq!(input.forecast_starts(SEED, DRAWS), [StartForecast::Unknown(UnknownStart::FewEndedJobs)]);
}

#[test]
fn what_fits_no_agents_is_said() {
    // Five cores on agents of four; five members of two cores on two agents.
    let mut input = cluster(2, vec![], vec![waits("ann", 4), waits("ann", 8), waits("ann", 0)]);
    input.kinds.push(gang(5, 5, 2, &[]));
    let [too_large, gang, small] = input.forecast_starts(SEED, DRAWS)[..] else { panic!("three forecasts") };
    assert_eq!([too_large, gang], [StartForecast::Unknown(UnknownStart::DoesNotFit); 2]);
    assert_near(seconds(small), 0.0);
}

#[test]
fn agents_that_take_nothing_have_no_room() {
    let mut input = cluster(2, vec![], vec![waits("ann", 0)]);
    input.agents[0].is_schedulable = false;
    input.kinds[0].members[0].admitted = Some(Arc::from([true, false]));
    assert_eq!(input.forecast_starts(SEED, DRAWS), [StartForecast::Unknown(UnknownStart::DoesNotFit)]);
    input.agents[0].is_schedulable = true;
    assert_eq!(medians(&input), [0.0]);
}

#[test]
fn a_gang_starts_with_its_minimum() {
    // Four members of two cores on two agents, of which one is held.
    let mut input = cluster(2, vec![runs("ann", 4, 40)], vec![waits("ann", 8), waits("ann", 9)]);
    input.kinds.push(gang(4, 2, 2, &[]));
    input.kinds.push(gang(4, 4, 2, &[]));
    let found = medians(&input);
    assert_near(found[0], 0.0);
    // The second one needs all of it, and the first one runs for a hundred seconds.
    assert_near(found[1], 100.0);
}

#[test]
fn a_limit_of_the_queue_holds_back() {
    let mut input = cluster(2, vec![], vec![waits("ann", 8), waits("ann", 8), waits("bob", 0)]);
    input.queue_limits = vec![cpu(1)];
    input.kinds.push(gang(1, 1, 1, &[0]));
    for (found, expected) in medians(&input).into_iter().zip([0.0, 100.0, 0.0]) {
        assert_near(found, expected);
    }
    input.queue_limits[0] = SlotAmounts::from_iter([(SlotName::new("cpu").unwrap(), Amount::default())]);
    let never = StartForecast::Unknown(UnknownStart::DoesNotFit);
    assert_eq!(input.forecast_starts(SEED, DRAWS)[..2], [never; 2]);
}

#[test]
fn the_backfill_of_the_group_decides_who_overtakes() {
    // Four cores are asked for where one is held for long; then one core for long, and one for a short time.
    let running = || runs("bob", 1, 500);
    let waiting = || {
        let asks = |name, kind, seconds| ForecastWorkload { expected_seconds: Some(seconds), ..waits(name, kind) };
        vec![asks("bob", 3, 1_000), asks("bob", 0, 1_000), asks("ann", 0, 100)]
    };
    let of = |backfill| {
        let mut input = ForecastInput { backfill, ..cluster(1, vec![running()], waiting()) };
        input.running[0].expected_seconds = Some(1_000);
        medians(&input)
    };
    let strict = of(BackfillMode::Nothing);
    assert_near(strict[0], 500.0);
    assert!(strict[1] >= 1_300.0 && strict[2] >= 1_300.0, "{strict:?}");
    let skip = of(BackfillMode::Skip);
    assert_near(skip[0], 1_000.0);
    assert_eq!(skip[1..], [0.0, 0.0]);
    let easy = of(BackfillMode::Easy);
    assert_near(easy[0], 500.0);
    assert!(easy[1] >= 1_300.0, "it would delay the first one: {easy:?}");
    assert_near(easy[2], 0.0);
}

/// The shares of two users: ann has used much, bob nothing.
fn shares(input: &ForecastInput) -> OwnerOrder {
    let mut shares = OwnerShares::new(&FairShareOptions::default(), &input.capacity, false);
    let used = |normalized_usage| Share::new(None, DecayedHistory { normalized_usage, ..DecayedHistory::default() });
    let mut hierarchy = Hierarchy::default();
    let domain: Arc<str> = Arc::from("d");
    hierarchy.put_domain(&domain, used(0.5));
    hierarchy.put_project(owner("ann").project, &domain, used(0.5));
    hierarchy.put_user(owner("ann"), used(0.5));
    hierarchy.put_user(owner("bob"), used(0.0));
    hierarchy.weigh(Weight::ONE);
    let mut add = |share: &Share| shares.add_node(share.history.normalized_usage, share.effective_weight);
    let (outer, project) = (add(&hierarchy.domains()["d"]), add(&hierarchy.projects()[&owner("ann").project].1));
    for (member, share) in hierarchy.users() {
        let user = shares.add_node(share.history.normalized_usage, share.effective_weight);
        shares.add_owner(*member, [outer, project, user]);
    }
    OwnerOrder::Shares(Arc::new(shares))
}

#[test]
fn workloads_come_again_as_in_the_weeks_before() {
    // One workload of a hundred seconds each minute for a day fills the cluster; ann's own place is behind them.
    let past = |place| {
        let submitted = |n: i64| PastSubmission {
            submitted_at: later(-86_400 + n * 60),
            workload: waits("bob", 3),
            ran_seconds: Some(100),
            place,
        };
        (0..1_440).map(submitted).collect::<Vec<_>>()
    };
    let input = |place| ForecastInput {
        past: past(place),
        past_from: later(-86_400),
        ..cluster(1, vec![runs("ann", 4, 40)], vec![waits("ann", 3)])
    };
    assert_near(medians(&input(1))[0], 60.0);
    let behind = input(0).forecast_starts(SEED, DRAWS);
    assert_eq!(behind, [StartForecast::Unknown(UnknownStart::NothingEnds)], "those that come are always ahead");
}

#[test]
fn the_order_follows_the_shares_as_they_change() {
    let mut input = cluster(1, vec![runs("ann", 4, 40)], vec![waits("ann", 3), waits("bob", 3)]);
    input.order = shares(&input);
    let found = medians(&input);
    assert_near(found[1], 60.0);
    assert_near(found[0], 1_060.0);
}

#[test]
fn a_progressive_order_counts_a_start_at_once() {
    // Two workloads of ann wait before one of bob, who has used a little more; once ann's first has started she comes later.
    let mut input = cluster(1, vec![], vec![waits("ann", 3), waits("ann", 3), waits("bob", 3)]);
    let mut shares = OwnerShares::new(&FairShareOptions::default(), &input.capacity, true);
    for (name, used) in [("ann", 0.0), ("bob", 0.000_001)] {
        let node = shares.add_node(used, EffectiveWeight::single(Weight::ONE));
        shares.add_owner(owner(name), [node; 3]);
    }
    input.order = OwnerOrder::Shares(Arc::new(shares));
    let found = medians(&input);
    assert_near(found[0], 0.0);
    assert_near(found[2], 100.0);
    assert_near(found[1], 1_100.0);
}

#[test]
fn a_reservation_is_on_one_agent() {
    // Two agents with two free cores each: three cores on one agent are free when ann's core ends, and not before.
    let on =
        |agent: usize, name, cores| ForecastRunning { members: vec![(agent, cpu(cores))], ..runs(name, cores, 40) };
    let mut input = cluster(2, vec![on(0, "ann", 2), on(1, "bob", 2)], vec![waits("ann", 2), waits("carl", 1)]);
    input.running[0].expected_seconds = Some(100);
    input.running[1].expected_seconds = Some(1_000);
    input.waiting[1].expected_seconds = Some(10);
    input.backfill = BackfillMode::Easy;
    let found = medians(&input);
    assert_near(found[0], 60.0);
    assert_near(found[1], 0.0);
}

#[test]
fn members_above_the_minimum_stay_below_the_limit() {
    let mut input = cluster(2, vec![], vec![waits("ann", 8), waits("bob", 9)]);
    input.queue_limits = vec![cpu(2)];
    // If all four members started, the queue would be above its limit until they end.
    input.kinds.push(gang(4, 1, 1, &[0]));
    input.kinds.push(gang(6, 6, 1, &[]));
    assert_eq!(medians(&input), [0.0, 0.0]);
}

#[test]
fn a_gang_of_different_members_that_does_not_fit_is_passed() {
    // Two of four agents are free. The gang needs one of them for its first member, and both for the others.
    let on = |agent: usize, name| ForecastRunning { members: vec![(agent, cpu(4))], ..runs(name, 4, 40) };
    let mut input =
        cluster(4, vec![on(0, "ann"), on(1, "ann")], vec![waits("ann", 8), waits("bob", 3), waits("bob", 1)]);
    let member = |count, cores| ForecastMember { slots: cpu(cores), count, admitted: None };
    input.kinds.push(WorkloadKind { members: vec![member(1, 4), member(4, 2)], minimum: 5, queues: Arc::default() });
    let skip = medians(&input);
    assert_eq!(skip[1..], [0.0, 0.0]);
    assert!(skip[0] >= 60.0, "{skip:?}");
    input.backfill = BackfillMode::Easy;
    input.running.iter_mut().for_each(|running| running.expected_seconds = Some(100));
    input.waiting[2].expected_seconds = Some(10);
    let easy = medians(&input);
    assert_near(easy[0], 60.0);
    assert_near(easy[2], 0.0);
    input.backfill = BackfillMode::Nothing;
    assert!(medians(&input)[1] >= 60.0, "nothing starts behind it");
}

#[test]
fn a_workload_that_waits_for_the_limit_of_its_queue_holds_up_no_other() {
    let mut input = cluster(2, vec![runs("ann", 1, 40)], vec![waits("ann", 8), waits("bob", 3), waits("bob", 3)]);
    input.queue_limits = vec![cpu(2)];
    input.running[0].queues = Arc::from([0]);
    input.kinds.push(gang(1, 1, 2, &[0]));
    for backfill in [BackfillMode::Nothing, BackfillMode::Skip, BackfillMode::Easy] {
        input.backfill = backfill;
        let found = medians(&input);
        assert_near(found[0], 60.0);
        assert_near(found[1], 0.0);
    }
}

#[test]
fn without_agents_nothing_is_known() {
    let mut input = cluster(1, vec![], vec![waits("ann", 3)]);
    input.agents[0].slots = SlotAmounts::default();
    assert_eq!(input.forecast_starts(SEED, DRAWS), [StartForecast::Unknown(UnknownStart::NoAgents)]);
}

#[test]
fn equal_owners_are_ordered_by_places_and_owners_join_in_time() {
    // Owners without known shares have equal keys, so the places decide between them, also once bob's share is known.
    let mut input = cluster(1, vec![], vec![waits("carl", 3), waits("ann", 3), waits("bob", 3), waits("ann", 3)]);
    let mut shares = OwnerShares::new(&FairShareOptions::default(), &input.capacity, false);
    let node = shares.add_node(0.5, EffectiveWeight::single(Weight::ONE));
    shares.add_owner(owner("bob"), [node; 3]);
    input.order = OwnerOrder::Shares(Arc::new(shares));
    let found = medians(&input);
    assert_near(found[0], 0.0);
    assert_near(found[1], 10.0);
    assert_near(found[3], 110.0);
    assert_near(found[2], 210.0);
}
