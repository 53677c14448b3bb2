//! `drf`: on trees, and its two well-known properties.

use fairshared::domain::division::{DivisionOptions, DivisionSimulation};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{cases, divide, expect, tree};

#[test]
fn filling_goes_on_after_the_first_slot_is_used_up() {
    let queues = json!([
        {"name": "gpu-bound", "weight": 5, "request": {"cpu": 10, "gpu": 10}},
        {"name": "cpu-bound", "request": {"cpu": 100}},
    ]);
    expect("drf", &json!({}), queues, json!({"cpu": 100, "gpu": 4}), &[("gpu-bound", "4 4"), ("cpu-bound", "96 0")]);
}

/// Follows the trace alone: a leaf has its level x weight, in the proportions of its request. Siblings that were ended by
/// nothing of their own are at one level.
#[test]
fn a_trace_can_be_redone() {
    let simulate = |capacity: Value, queues: Value| {
        let simulation = json!({"algorithm": "drf", "capacity": capacity, "queues": queues, "explain": true});
        serde_json::to_value(serde_json::from_value::<DivisionSimulation>(simulation).unwrap().run().unwrap()).unwrap()
    };
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let capacity = json!({"cpu": 10, "gpu": 10});
    let queues = json!([
        {"name": "p", "weight": 2, "limit": {"cpu": 3}},
        {"name": "a", "parent": "p", "request": {"cpu": 10}},
        {"name": "b", "parent": "p", "request": {"cpu": 10, "gpu": 1}, "limit": {"cpu": 1}},
        {"name": "g", "parent": "p", "weight": 4, "request": {"gpu": 10}},
        {"name": "r", "request": {"cpu": 10}},
        {"name": "s", "request": {"cpu": "0.5"}},
    ]);
    let told = simulate(capacity.clone(), queues.clone());
    let stops = [
        ("a", "limit of p on cpu"),
        ("b", "limit on cpu"),
        ("g", "gpu, which is used up"),
        ("r", "cpu, which is used up"),
        ("s", "request"),
    ];
    for (name, stop) in stops {
        let queue = queues.as_array().unwrap().iter().find(|q| q["name"] == name).unwrap();
        let trace = told["trace"].as_array().unwrap().iter().find(|t| t["queue"] == name).unwrap();
        let asked = |slot: &str| {
            let amount = &queue["request"][slot];
            amount.as_f64().or_else(|| amount.as_str().and_then(|a| a.parse().ok())).unwrap_or(0.0)
        };
        let dominant = f64::max(asked("cpu") / 10.0, asked("gpu") / 10.0);
        for step in trace["steps"].as_array().unwrap() {
            assert_eq!(step["capped_by"], stop, "{name}");
            let share =
                number(&step["level"]) * number(&step["weight"]) * asked(step["slot"].as_str().unwrap()) / dominant;
            assert!((number(&step["gift"]) - share).abs() < 1e-9, "{name}: {step}");
        }
    }
    let parent = told["trace"].as_array().unwrap().iter().find(|t| t["queue"] == "p").unwrap();
    assert_eq!(parent["steps"][0]["gift"], "3");
    // The two of the famous example end at one level.
    let queues = json!([
        {"name": "A", "request": {"cpu": 81, "memory": 324}},
        {"name": "B", "request": {"cpu": 243, "memory": 81}},
    ]);
    let told = simulate(json!({"cpu": 9, "memory": 18}), queues);
    for trace in told["trace"].as_array().unwrap() {
        assert_eq!(trace["steps"][0]["level"], "0.666666666667");
    }
    assert_eq!(
        told["trace"][0]["sentence"],
        "gets 3 of 9 cpu: 3 by filling all queues evenly, ended by cpu, which is used up; \
         gets 12 of 18 memory: 12 by filling all queues evenly, ended by cpu, which is used up"
    );
}

/// Rounding in the steps of a solution is not visible in the result.
#[test]
fn large_amounts_carry_no_dust() {
    let byte = 549_755_813_888_u64;
    let queues: Vec<Value> = (0..7)
        .map(|n| json!({"name": format!("q{n}"), "weight": 1 + n % 2, "request": {"mem": byte, "cpu": 100}}))
        .collect();
    let simulation = json!({"algorithm": "drf", "capacity": {"mem": byte, "cpu": 1000}, "queues": queues});
    let report = serde_json::from_value::<DivisionSimulation>(simulation).unwrap().run().unwrap();
    let report = serde_json::to_value(report).unwrap();
    for queue in report["queues"].as_array().unwrap() {
        let digits = queue["fair_share"]["mem"].as_str().unwrap().chars().filter(char::is_ascii_digit).count();
        assert!(digits <= 13, "{queue}");
    }
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

/// The sum of the floats is one last digit above the capacity; the digit is taken from a queue that lacks something anyway.
#[test]
fn a_request_that_is_met_is_met_to_the_last_digit() {
    let queues = json!([
        {"name": "q0", "weight": 3}, {"name": "q1", "weight": 2},
        {"name": "q2", "request": {"cpu": 10, "gpu": 2}},
        {"name": "q3", "request": {"cpu": 8, "gpu": 9}},
        {"name": "q4", "weight": 3, "parent": "q0", "request": {"cpu": 4, "gpu": 1}},
        {"name": "q5", "weight": 3, "parent": "q1", "request": {"cpu": 7, "gpu": 3}},
        {"name": "q6", "parent": "q0", "request": {"cpu": 11, "gpu": 4}},
        {"name": "q7", "weight": 2, "request": {"cpu": 4, "gpu": 11}},
    ]);
    expect("drf", &json!({}), queues, json!({"cpu": 18, "gpu": 35}), &[("q4", "4 1")]);
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

/// The number of tasks that fit into a queue's share.
fn tasks(share: &[f64], demand: &[u32]) -> f64 {
    let wanted = demand.iter().zip(share).filter(|(d, _)| **d > 0);
    wanted.map(|(d, s)| s / f64::from(*d)).fold(f64::INFINITY, f64::min)
}

fn given(demands: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let tree = tree(flat(demands), json!({"slot0": 10, "slot1": 20, "slot2": 15}));
    let shares = divide(&tree, "drf", &DivisionOptions::default()).fair_share;
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
