//! The division of a group's capacity: time by algorithm and size, beside floors of the same run.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Duration;

use common::{Bar, repeat, row};
use fairshared::domain::decimal::Amount;
use fairshared::domain::division::{Options, Trace, Tree, algorithm, algorithm_names};
use fairshared::domain::queues::{Bound, GivenFigures, QueueConfig, QueueSpec};
use fairshared::domain::slots::{Amounts, SlotName};

/// Four levels; every queue wants something of every slot.
fn tree(leaves: usize, slots: usize) -> Tree {
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
                    |most: u64| -> Amounts { names.iter().map(|n| (*n, Amount::whole(random(most)))).collect() };
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
    Tree::build(&specs, &capacity).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The floor: every figure read once, every share written once.
fn copy(tree: &Tree) -> Vec<Amount> {
    let cells = (0..tree.len()).flat_map(|q| (0..tree.slots.len()).map(move |c| (q, c)));
    cells.map(|(q, c)| tree.requestable(q, c).min(tree.quota[(q, c)].cut(tree.capacity[c]))).collect()
}

fn measure(name: &str, queues: usize, slots: usize, bar: Option<Bar>) -> Duration {
    let tree = tree(queues, slots);
    let Some(algorithm) = algorithm(name) else { return Duration::ZERO };
    let floor = repeat(15, || copy(&tree));
    let measured = repeat(15, || algorithm.divide(&tree, &Options::default(), &mut Trace::off()));
    let label = format!("{name}, {queues} queues x {slots} slots, 4 levels");
    row(&label, measured, Some(floor), bar.unwrap_or(Bar::Time(measured)));
    measured
}

/// Time must grow no faster than n log n from the smallest tree on.
fn growth(name: &str) {
    const SIZES: [u32; 3] = [1_000, 10_000, 100_000];
    let mut first = None;
    for size in SIZES {
        let bar = first.map(|first: Duration| {
            let (n, least) = (f64::from(size), f64::from(SIZES[0]));
            Bar::Time(first.mul_f64(n * n.log2() / (least * least.log2())))
        });
        let measured = measure(name, size as usize, 3, bar);
        first.get_or_insert(measured);
    }
}

fn main() {
    measure("min_share", 100_000, 1, Some(Bar::millis(30)));
    measure("quota_over_quota", 10_000, 3, Some(Bar::millis(60)));
    algorithm_names().for_each(growth);
}
