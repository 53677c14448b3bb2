//! `drf`: on trees, and its two famous properties.

use fairshared::domain::division::Options;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::cases;
use super::support::{divide, expect, tree};

#[test]
fn filling_goes_on_after_the_first_slot_is_used_up() {
    let queues = json!([
        {"name": "gpu-bound", "weight": 5, "request": {"cpu": 10, "gpu": 10}},
        {"name": "cpu-bound", "request": {"cpu": 100}},
    ]);
    expect("drf", &json!({}), queues, json!({"cpu": 100, "gpu": 4}), &[("gpu-bound", "4 4"), ("cpu-bound", "96 0")]);
}

#[test]
fn weights_scale_dominant_shares() {
    let queues = json!([
        {"name": "a", "weight": 3, "request": {"cpu": 100}},
        {"name": "b", "weight": 1, "request": {"memory": 30, "cpu": 100}},
        {"name": "z", "weight": 0, "request": {"memory": 100}},
    ]);
    let expected = [("a", "75 0"), ("b", "25 7.5"), ("z", "0 92.5")];
    expect("drf", &json!({}), queues, json!({"cpu": 100, "memory": 100}), &expected);
}

/// H-DRF's point: a parent's share counts what all of its children hold, but not of slots that are used up.
#[test]
fn parents_compare_by_what_their_children_hold() {
    let queues = json!([
        {"name": "n1", "request": {"cpu": 10}},
        {"name": "n2"},
        {"name": "n21", "parent": "n2", "request": {"cpu": 10}},
        {"name": "n22", "parent": "n2", "request": {"gpu": 10}},
    ]);
    let expected = [("n1", "5 0"), ("n21", "5 0"), ("n22", "0 10"), ("n2", "5 10")];
    expect("drf", &json!({}), queues, json!({"cpu": 10, "gpu": 10}), &expected);
}

#[test]
fn limits_of_ancestors_hold() {
    let queues = json!([
        {"name": "p", "limit": {"cpu": 3}},
        {"name": "a", "parent": "p", "request": {"cpu": 10}},
        {"name": "b", "parent": "p", "request": {"cpu": 10, "gpu": 1}, "limit": {"cpu": 1}},
        {"name": "g", "parent": "p", "request": {"gpu": 10}},
        {"name": "r", "request": {"cpu": 10}},
    ]);
    let slots = json!({"cpu": 10, "gpu": 10});
    expect(
        "drf",
        &json!({}),
        queues,
        slots,
        &[("a", "2 0"), ("b", "1 0.1"), ("g", "0 9.9"), ("p", "3 10"), ("r", "7 0")],
    );
}

#[test]
fn an_idle_dominant_slot_lets_a_parent_catch_up_elsewhere() {
    // p's share is that of gpu when its gpu leaf is done; until cpu comes level with it, its cpu leaf grows alone.
    let queues = json!([
        {"name": "p"},
        {"name": "pg", "parent": "p", "weight": 8, "request": {"gpu": 8}},
        {"name": "pc", "parent": "p", "request": {"cpu": 50}},
        {"name": "q", "weight": "0.5", "request": {"cpu": 50}},
    ]);
    expect("drf", &json!({}), queues, json!({"cpu": 40, "gpu": 10}), &[("pg", "0 8"), ("pc", "24 0"), ("q", "16 0")]);
}

fn demands() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(0u32..=9, 3), 2..7)
}

fn flat(demands: &[Vec<u32>]) -> Value {
    let queue = |(at, demand): (usize, &Vec<u32>)| {
        // Divisible demand without an end: a thousand tasks.
        let request: serde_json::Map<String, Value> =
            demand.iter().enumerate().map(|(s, d)| (format!("slot{s}"), json!(d * 1000))).collect();
        json!({"name": format!("q{at}"), "request": request})
    };
    Value::Array(demands.iter().enumerate().map(queue).collect())
}

/// How many tasks fit into what a queue gets.
fn tasks(share: &[f64], demand: &[u32]) -> f64 {
    let wanted = demand.iter().zip(share).filter(|(d, _)| **d > 0);
    wanted.map(|(d, s)| s / f64::from(*d)).fold(f64::INFINITY, f64::min)
}

fn given(demands: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let tree = tree(flat(demands), json!({"slot0": 10, "slot1": 20, "slot2": 15}));
    let shares = divide(&tree, "drf", &Options::default()).fair_share;
    (0..tree.len()).map(|q| shares.row(q).iter().map(|a| a.to_f64()).collect()).collect()
}

const DUST: f64 = 1e-9;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn nobody_envies_another(demands in demands()) {
        let shares = given(&demands);
        for (demand, own) in demands.iter().zip(&shares).filter(|(d, _)| d.iter().any(|d| *d > 0)) {
            for other in &shares {
                prop_assert!(tasks(own, demand) >= tasks(other, demand) - DUST, "{demands:?} {shares:?}");
            }
        }
    }

    #[test]
    fn lying_about_demand_does_not_pay(demands in demands(), lie in prop::collection::vec(0u32..=9, 3)) {
        let honest = given(&demands);
        if demands[0].iter().all(|d| *d == 0) {
            return Ok(());
        }
        let mut told = demands.clone();
        told[0] = lie;
        let dishonest = given(&told);
        prop_assert!(tasks(&dishonest[0], &demands[0]) <= tasks(&honest[0], &demands[0]) + DUST, "{demands:?} {told:?}");
    }

    #[test]
    fn everybody_gets_an_equal_part_of_something(demands in demands()) {
        let shares = given(&demands);
        let equal = 1.0 / demands.len() as f64;
        for (demand, own) in demands.iter().zip(&shares).filter(|(d, _)| d.iter().any(|d| *d > 0)) {
            let part = tasks(&[10.0 * equal, 20.0 * equal, 15.0 * equal], demand);
            prop_assert!(tasks(own, demand) >= part - DUST, "sharing is worse than a cluster of one's own: {demands:?}");
        }
    }
}
