//! Factors and ranks of all users from 28 days of buckets: pure computation, and the memory of a bucket.

use std::sync::Arc;
use std::time::Duration;

use fairshared::domain::bucket::Bucket;
use fairshared::domain::capacity::CapacityCalendar;
use fairshared::domain::factor::{DecayedHistory, Exponent, HistoryDecayer};
use fairshared::domain::hierarchy::{Hierarchy, Share};
use fairshared::domain::ids::{Member, Owner};
use fairshared::domain::ledger::Ledger;
use fairshared::domain::options::FairShareOptions;
use fairshared::domain::ranking::{RankedRow, RowRanking};
use fairshared::domain::slots::{SlotAmounts, SlotName, SlotUsages};
use fairshared::domain::time::Day;
use fairshared::domain::weight::Weight;

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, Unit};
use crate::common::program::own_size;
use crate::common::repeat;
use crate::common::world::{DOMAINS, PROJECTS, domain_name, member};

pub const BENCH: Bench = Bench { name: "factors", figures: &[&BUCKET, &SMALL, &LARGE], run };

pub const FLOOR: &str = "sum of the same numbers as `f64`";

const fn of(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: FLOOR, unit: Unit::Time, bars, on: MEMORY }
}

static SMALL: Figure =
    of("factors and ranks of 10,000 users, 500 projects, 10 domains, 28 days, 3 slots", &[Bar::Most(0.06)]);
static LARGE: Figure = of("the same with 100,000 users", &[Bar::Most(0.7)]);

static BUCKET: Figure = Figure {
    name: "memory of a bucket with 3 slots",
    floor: "",
    unit: Unit::Bytes,
    bars: &[Bar::Most(300.0)],
    on: MEMORY,
};

const DAYS: i32 = 28;
const TODAY: Day = Day(20_466);

fn run() {
    // Measured first, because a process reuses memory that it has freed without growing.
    bucket();
    let (measured, floor) = measure(10_000, 20);
    SMALL.took(On::Memory, measured, Some(floor));
    let (measured, floor) = measure(100_000, 5);
    LARGE.took(On::Memory, measured, Some(floor));
}

/// The growth of the process for the buckets of 100,000 users, their projects and domains.
fn bucket() {
    let before = own_size();
    let histories = histories(100_000);
    let buckets: usize = histories.0.all_series().map(|(_, series)| series.len()).sum();
    BUCKET.measured(On::Memory, (own_size() - before) / buckets as f64, None);
    drop(histories);
}

/// The time of all factors and ranks, and of the floor.
pub fn measure(users: usize, times: usize) -> (Duration, Duration) {
    let (mut ledger, mut hierarchy) = histories(users);
    let options = FairShareOptions::default();
    ledger.normalize(&HistoryDecayer::new(&options, TODAY));
    let mut days = 0;
    let measured = repeat(times, || {
        // Another day changes the history of every owner.
        days = 1 - days;
        let decayer = HistoryDecayer::new(&options, TODAY.plus(days));
        hierarchy.take_all_histories(|owner| ledger.history(owner, &decayer));
        hierarchy.weigh(Weight::ONE);
        RowRanking::of(
            hierarchy.users().iter().map(|(member, share)| Arc::new(Standing(*member, share.exponent))).collect(),
        )
    });
    let numbers: Vec<f64> = ledger
        .all_series()
        .flat_map(|(_, series)| series.buckets())
        .flat_map(|bucket| bucket.usage.iter().map(|(_, usage)| usage.to_f64()).collect::<Vec<_>>())
        .collect();
    (measured, repeat(times, || numbers.iter().sum::<f64>()))
}

/// The data of one user that a ranking needs.
struct Standing(Member, Exponent);

impl RankedRow for Standing {
    type Id = Member;

    fn exponent(&self) -> Exponent {
        self.1
    }

    fn id(&self) -> &Member {
        &self.0
    }
}

fn histories(users: usize) -> (Ledger, Hierarchy) {
    let slot = |name| SlotName::new(name).unwrap_or_else(|| panic!("{name}"));
    let slots = [slot("cpu"), slot("mem"), slot("cuda.device")];
    let capacity = |day: i32| -> Arc<SlotAmounts> {
        Arc::new(slots.iter().map(|s| (*s, (1_000_000 + day).to_string().parse().unwrap())).collect())
    };
    let capacities: Vec<Arc<SlotAmounts>> = (0..DAYS).map(capacity).collect();
    let mut ledger = Ledger::new(CapacityCalendar::default(), TODAY.plus(-DAYS));
    let mut hierarchy = Hierarchy::default();
    let share = || Share::new(None, DecayedHistory::default());
    let mut entities = Vec::new();
    for n in 0..DOMAINS {
        let name: Arc<str> = Arc::from(domain_name(n));
        hierarchy.put_domain(&name, share());
        entities.push(Owner::Domain(name));
    }
    for n in 0..PROJECTS {
        hierarchy.put_project(member(n).project, &Arc::from(domain_name(n)), share());
        entities.push(Owner::Project(member(n).project));
    }
    for n in 0..users {
        hierarchy.put_user(member(n), share());
        entities.push(Owner::User(member(n)));
    }
    for age in (0..DAYS).rev() {
        for (n, entity) in entities.iter().enumerate() {
            let usage: SlotUsages = slots
                .iter()
                .zip(1..)
                .map(|(s, k)| (*s, format!("{}.{k:03}", (n + 1) * 977 % 86_400 * k).parse().unwrap()))
                .collect();
            let day = TODAY.plus(-age);
            let capacity = Arc::clone(&capacities[age.unsigned_abs() as usize]);
            let bucket = Bucket { start: day, end: day, unit_days: 1, usage, records: 1, capacity };
            ledger.load(entity.clone(), bucket.clone());
        }
    }
    (ledger, hierarchy)
}
