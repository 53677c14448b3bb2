//! The division of a group's capacity: time by algorithm and size, with floors of the same run.

use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{DivisionOptions, DivisionTrace, QueueTree, algorithm, algorithm_names};
use fairshared::domain::queues::{Bound, GivenFigures, QueueConfig, QueueSpec};
use fairshared::domain::slots::{SlotAmounts, SlotName};

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, Unit};
use crate::common::repeat;

pub const BENCH: Bench = Bench {
    name: "division",
    figures: &[&MIN_SHARE, &QUOTA, &QUOTA_GROWTH, &MIN_SHARE_GROWTH, &PROPORTION_GROWTH, &DRF_GROWTH],
    run,
};

/// One division.
const fn once(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "every figure read, every share written once", unit: Unit::Time, bars, on: MEMORY }
}

/// The time of 100,000 queues as a multiple of that of 1,000 queues.
const fn growth(name: &'static str, bars: &'static [Bar]) -> Figure {
    let floor = "what reading every figure and writing every share grows";
    Figure { name, floor, unit: Unit::Times, bars, on: MEMORY }
}

static MIN_SHARE: Figure = once("`min_share`, 100,000 queues in 4 levels, one slot", &[Bar::Most(0.03)]);
static QUOTA: Figure = once("`quota_over_quota`, 10,000 queues x 3 slots in 4 levels, `exact`", &[Bar::Most(0.06)]);
static QUOTA_GROWTH: Figure = growth("`quota_over_quota`, 100,000 against 1,000 queues x 3 slots", N_LOG_N);
static MIN_SHARE_GROWTH: Figure = growth("`min_share`, 100,000 against 1,000 queues x 3 slots", N_LOG_N);
static PROPORTION_GROWTH: Figure = growth("`proportion`, 100,000 against 1,000 queues x 3 slots", &[]);
static DRF_GROWTH: Figure = growth("`drf`, 100,000 against 1,000 queues x 3 slots", &[]);
/// 100,000 x log 100,000 over 1,000 x log 1,000.
const N_LOG_N: &[Bar] = &[Bar::Most(167.0)];

const GROWTH: [(&str, &Figure); 4] = [
    ("quota_over_quota", &QUOTA_GROWTH),
    ("min_share", &MIN_SHARE_GROWTH),
    ("proportion", &PROPORTION_GROWTH),
    ("drf", &DRF_GROWTH),
];

/// A tree of four levels, in which every queue asks for some of every slot.
fn tree(leaves: usize, slots: usize) -> QueueTree {
    let names: Vec<SlotName> = (0..slots).filter_map(|s| SlotName::new(&format!("slot{s}"))).collect();
    let mut specs: Vec<QueueSpec> = Vec::with_capacity(leaves);
    let fan = (1..leaves).find(|fan: &usize| fan.pow(4) >= leaves).unwrap_or(1);
    let mut level = vec![None];
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..4 {
        let mut next = Vec::new();
        for parent in &level {
            for _ in 0..fan {
                if specs.len() == leaves {
                    break;
                }
                let name = format!("q{}", specs.len());
                let mut amounts =
                    |most: u64| -> SlotAmounts { names.iter().map(|n| (*n, Amount::whole(random(most)))).collect() };
                let (request, quota, allocated) = (amounts(40), amounts(6), amounts(20));
                let config = QueueConfig {
                    parent: Option::clone(parent),
                    weight: Amount::whole(1 + random(9)),
                    min_share_ratio: Amount::from_units(u128::from(random(1_000_000))),
                    quota: quota.map(Bound::Limited),
                    ..QueueConfig::named(name.clone())
                };
                let (request, allocated) = (Some(request), Some(allocated));
                let given = GivenFigures { request, allocated, ..GivenFigures::default() };
                specs.push(QueueSpec { given, ..config.into() });
                next.push(Some(name));
            }
        }
        level = next;
    }
    let capacity = names.iter().map(|n| (*n, Amount::whole(leaves as u64 * 5))).collect();
    QueueTree::build(&specs, &capacity).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The floor: every figure read once, every share written once.
fn copy(tree: &QueueTree) -> Vec<Amount> {
    let cells = (0..tree.len()).flat_map(|q| (0..tree.slots.len()).map(move |c| (q, c)));
    cells.map(|(q, c)| tree.requestable(q, c).min(tree.quota[(q, c)].cut(tree.capacity[c]))).collect()
}

/// The seconds of a division and of its floor.
fn measure(name: &str, queues: usize, slots: usize) -> (f64, f64) {
    let tree = tree(queues, slots);
    let algorithm = algorithm(name).unwrap_or_else(|| panic!("no algorithm {name}"));
    let floor = repeat(15, || copy(&tree));
    let measured = repeat(15, || algorithm.divide(&tree, &DivisionOptions::default(), &mut DivisionTrace::off()));
    (measured.as_secs_f64(), floor.as_secs_f64())
}

fn run() {
    for (figure, name, queues, slots) in
        [(&MIN_SHARE, "min_share", 100_000, 1), (&QUOTA, "quota_over_quota", 10_000, 3)]
    {
        let (measured, floor) = measure(name, queues, slots);
        figure.measured(On::Memory, measured, Some(floor));
    }
    for name in algorithm_names() {
        let figure = GROWTH.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no figure for {name}"));
        let (few, many) = (measure(name, 1_000, 3), measure(name, 100_000, 3));
        figure.1.measured(On::Memory, many.0 / few.0, Some(many.1 / few.1));
    }
}
