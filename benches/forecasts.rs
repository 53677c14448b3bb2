//! Forecasts of a group with many agents and many waiting workloads.

use std::sync::Arc;
use std::time::Duration;

use fairshared::domain::cycle::BackfillMode;
use fairshared::domain::decimal::Amount;
use fairshared::domain::forecast::{
    ForecastAgent, ForecastInput, ForecastMember, ForecastRunning, ForecastWorkload, JobClass, OwnerOrder,
    PastSubmission, RunTimeModel, RunTimeSource, StartForecast, WorkloadKind,
};
use fairshared::domain::ids::Member;
use fairshared::domain::slots::SlotAmounts;
use fairshared::domain::time::{MICROS_PER_SECOND, Timestamp};

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, Unit};
use crate::common::{median, roll, slots, timed, world};
use crate::support::dice::Dice;

pub const BENCH: Bench = Bench { name: "forecasts", figures: &[&STRICT, &SKIP, &EASY], run };

const fn forecasts(name: &'static str) -> Figure {
    Figure { name, floor: "", unit: Unit::Time, bars: &[Bar::Most(3.0)], on: MEMORY }
}

static STRICT: Figure =
    forecasts("forecasts of 10,000 waiting workloads on 5,000 agents with 50,000 kernels, `none`, 16 draws");
static SKIP: Figure = forecasts("the same with `skip`");
static EASY: Figure = forecasts("the same with `easy`");

const AGENTS: usize = 5_000;
const KERNELS: usize = 50_000;
const WAITING: usize = 10_000;
const OWNERS: usize = 500;
/// Workloads that were submitted in the last week, of which a draw repeats those that come while others wait.
const SUBMITTED: usize = 20_000;
const NOW: i64 = 1_768_000_000;
const WEEK: i64 = 7 * 24 * 3_600;
const DRAWS: u32 = 16;
const TIMES: usize = 3;

fn capacity() -> SlotAmounts {
    slots(64 * AGENTS as u64, 10 * AGENTS as u64)
}

fn owner(dice: &mut Dice) -> Member {
    world::member(roll(dice, OWNERS))
}

/// Workloads of one member to eight, with one gpu to eight for each.
fn kinds() -> Vec<WorkloadKind> {
    let sizes = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 4), (4, 1), (8, 1), (8, 8)];
    let kind = |(count, gpus): (u32, u64)| WorkloadKind {
        members: vec![ForecastMember { slots: slots(4 * gpus, gpus), count, admitted: None }],
        minimum: count,
        queues: Arc::default(),
    };
    sizes.into_iter().map(kind).collect()
}

fn workload(dice: &mut Dice, kinds: usize) -> ForecastWorkload {
    let seconds = Some(600 << roll(dice, 8));
    ForecastWorkload { owner: owner(dice), kind: roll(dice, kinds), asked_seconds: seconds, expected_seconds: seconds }
}

/// Run times between a tenth and all of what was announced.
fn run_times(dice: &mut Dice, kinds: &[WorkloadKind]) -> RunTimeSource {
    let mut model = RunTimeModel::default();
    for _ in 0..SUBMITTED {
        let ForecastWorkload { owner, kind, asked_seconds, .. } = workload(dice, kinds.len());
        let asked = asked_seconds.unwrap_or_default();
        let ran = f64::from(asked) * (1 + roll(dice, 10)) as f64 / 10.0;
        let member = &kinds[kind].members[0];
        let whole = member.slots.map(|amount| Amount::from_units(amount.units() * u128::from(member.count)));
        model.add(owner, JobClass::of(&whole, &capacity(), asked_seconds), asked_seconds, ran);
    }
    RunTimeSource::Learned(Arc::new(model))
}

fn input(backfill: BackfillMode) -> ForecastInput {
    let mut dice = Dice::seeded(7);
    let kinds = kinds();
    let now = Timestamp::from_seconds(NOW);
    let seconds_ago = |seconds: usize| now.plus_micros(-i64::try_from(seconds).unwrap_or(0) * MICROS_PER_SECOND);
    let running = |at: usize| ForecastRunning {
        owner: owner(&mut dice),
        started_at: seconds_ago(roll(&mut dice, 3_600)),
        asked_seconds: Some(14_400),
        expected_seconds: Some(14_400),
        members: vec![(at % AGENTS, slots(4, 1))],
        queues: Arc::default(),
    };
    let running = (0..KERNELS).map(running).collect();
    let waiting = (0..WAITING).map(|_| workload(&mut dice, kinds.len())).collect();
    let week = usize::try_from(WEEK).unwrap_or(0);
    let past = |at: usize| PastSubmission {
        submitted_at: seconds_ago(week - at * week / SUBMITTED),
        workload: workload(&mut dice, kinds.len()),
        ran_seconds: Some(u32::try_from(60 + roll(&mut dice, 14_400)).unwrap_or(60)),
        place: u32::try_from(roll(&mut dice, WAITING)).unwrap_or(0),
    };
    let past = (0..SUBMITTED).map(past).collect();
    ForecastInput {
        now,
        capacity: capacity(),
        agents: (0..AGENTS).map(|_| ForecastAgent { slots: slots(64, 10), is_schedulable: true }).collect(),
        queue_limits: Vec::new(),
        running,
        waiting,
        past,
        past_from: now.plus_micros(-WEEK * MICROS_PER_SECOND),
        run_times: run_times(&mut dice, &kinds),
        kinds,
        backfill,
        order: OwnerOrder::Fixed,
    }
}

fn measure(backfill: BackfillMode) -> Duration {
    let input = input(backfill);
    let times = (0..TIMES).map(|_| {
        let (time, forecasts) = timed(|| input.forecast_starts(NOW.unsigned_abs(), DRAWS));
        assert!(forecasts.iter().any(|forecast| matches!(forecast, StartForecast::Known(_))), "some starts are known");
        time
    });
    median(times.collect())
}

fn run() {
    STRICT.took(On::Memory, measure(BackfillMode::Nothing), None);
    SKIP.took(On::Memory, measure(BackfillMode::Skip), None);
    EASY.took(On::Memory, measure(BackfillMode::Easy), None);
}
