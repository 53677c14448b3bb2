//! Replays of a large cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::domain::decimal::Amount;
use fairshared::domain::identity;
use fairshared::domain::ids::Member;
use fairshared::domain::options::{FairShareOptions, SequenceMode};
use fairshared::domain::replay::history::{CapacityOffer, ReplayHistory, TraceJob, TraceUser};
use fairshared::domain::replay::policy::ReplayPolicy;
use fairshared::domain::replay::report::{JobStarts, PolicyOutcome};
use fairshared::domain::replay::simulation::RuntimeEstimates;
use fairshared::domain::replay::{schedulers, simulate};
use fairshared::domain::sequencer::Sequencer;
use fairshared::domain::slots::{SlotAmounts, SlotName};
use fairshared::domain::time::{MICROS_PER_SECOND, SECONDS_PER_DAY};

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, Unit};
use crate::common::timed;
use crate::common::world;
use crate::support::dice::Dice;
use crate::support::time;

pub const BENCH: Bench = Bench { name: "replay", figures: &[&PLAIN, &PROGRESSIVE], run };

const fn replayed(name: &'static str) -> Figure {
    Figure { name, floor: "the same under `fifo`", unit: Unit::Time, bars: &[Bar::Most(60.0)], on: MEMORY }
}

static PLAIN: Figure =
    replayed("1,000,000 jobs of 300 users in 100 days on 10,000 cores, `fairshare`, strict scheduler");
static PROGRESSIVE: Figure = replayed("the same in progressive mode");

const JOBS: usize = 1_000_000;
const OWNERS: usize = 300;
const CORES: u64 = 10_000;
const SIZES: [u64; 8] = [1, 1, 2, 4, 8, 16, 32, 64];
const DAYS: i64 = 100;
/// The part of the cluster that the jobs need.
const LOAD: f64 = 0.95;

fn run() {
    let history = history();
    let replay = |scheduler: &str, mode: SequenceMode| {
        let options = FairShareOptions { sequence_mode: mode, ..FairShareOptions::default() };
        let sequencer = Sequencer::by_name(scheduler).unwrap_or_else(|| panic!("no sequencer {scheduler}"));
        let policy = ReplayPolicy { name: scheduler.to_owned(), sequencer, options, weights: BTreeMap::new() };
        let (took, outcome) = timed(|| {
            let starts = simulate(&history, &policy, schedulers::SCHEDULERS[0], RuntimeEstimates::Given);
            PolicyOutcome::of(&history, &JobStarts { name: scheduler, starts: &starts, policy: &policy })
        });
        assert_eq!((outcome.figures.jobs, outcome.never_started), (JOBS as u64, 0));
        took
    };
    let floor = replay("fifo", SequenceMode::Plain);
    PLAIN.took(On::Memory, replay("fairshare", SequenceMode::Plain), Some(floor));
    PROGRESSIVE.took(On::Memory, replay("fairshare", SequenceMode::Progressive), Some(floor));
}

fn person(n: usize) -> TraceUser {
    let (user, project) = (format!("user-{n}"), format!("project-{}", n % 30));
    let member = Member { user: identity::user(&user), project: identity::project(&project) };
    TraceUser {
        member,
        user: user.into(),
        project: project.into(),
        domain: Arc::from(format!("domain-{}", n % 30 % 4)),
    }
}

/// Jobs of all lengths, with owners who are not equally busy.
fn history() -> ReplayHistory {
    let cpu = SlotName::new("cpu").unwrap_or_else(|| panic!("no slot cpu"));
    let cores = |count: u64| -> SlotAmounts { [(cpu, Amount::whole(count))].into_iter().collect() };
    let start = time(world::START);
    let mut dice = Dice::seeded(1);
    let mean_size = SIZES.iter().sum::<u64>() as f64 / SIZES.len() as f64;
    let mean_length = LOAD * (CORES * (DAYS * SECONDS_PER_DAY).unsigned_abs()) as f64 / JOBS as f64 / mean_size;
    let between = (DAYS * SECONDS_PER_DAY * MICROS_PER_SECOND).unsigned_abs() / JOBS as u64;
    let mut jobs: Vec<TraceJob> = (0..JOBS)
        .map(|n| {
            let at = n as u64 * between + dice.roll(between);
            // The smaller of two dice, so that some owners have many times as many jobs as others.
            let owner = dice.roll(OWNERS as u64).min(dice.roll(OWNERS as u64));
            // One job in ten may run ten times as long as the others.
            let part = if dice.one_in(10) { 10_000 } else { 1_000 };
            let length = mean_length * dice.roll(2 * part) as f64 / 1_900.0;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "days in microseconds")]
            let ran = (length * MICROS_PER_SECOND as f64) as u64;
            let submitted_at = start.plus_micros(at.cast_signed());
            TraceJob {
                id: format!("{n:07}").into(),
                owner: u32::try_from(owner).unwrap_or(0),
                size: u32::try_from(dice.roll(SIZES.len() as u64)).unwrap_or(0),
                submitted_at,
                started_at: submitted_at,
                ran,
                limit_seconds: None,
                priority: 0,
            }
        })
        .collect();
    jobs.sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
    ReplayHistory {
        jobs,
        owners: (0..OWNERS).map(person).collect(),
        sizes: SIZES.map(cores).to_vec(),
        offers: vec![CapacityOffer { from: start, slots: cores(CORES) }],
    }
}
