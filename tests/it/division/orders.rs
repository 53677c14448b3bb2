//! States and queue orders (DIVISION §2.6, §5, appendix B).

use fairshared::domain::decimal::f64_text;
use fairshared::domain::division::report::order::{by_saturation, by_score, queue_scores};
use fairshared::domain::division::{DivisionOptions, QueueAllocation, QueueState};
use serde_json::{Value, json};

use super::support::{divide, tree};

fn order(queues: Value, slots: Value) -> Vec<String> {
    let tree = tree(queues, slots);
    let shares = divide(&tree, "quota_over_quota", &DivisionOptions::default());
    by_saturation(&tree, &shares.fair_share).into_iter().map(|q| tree.name(q).to_owned()).collect()
}

#[test]
fn states_and_ratios() {
    let tree = tree(
        json!([
            {"name": "in", "quota": {"gpu": 4}, "request": {"gpu": 6, "cpu": 1}, "allocated": {"gpu": 4}},
            {"name": "over", "quota": {"gpu": 1}, "request": {"gpu": 9}, "allocated": {"gpu": 2}},
            {"name": "above", "request": {"gpu": 9}, "allocated": {"gpu": 3}, "limit": {"gpu": 1}},
            {"name": "inf", "request": {"fpga": 1}, "allocated": {"fpga": 1}},
        ]),
        json!({"gpu": 10, "cpu": 5}),
    );
    let shares = divide(&tree, "quota_over_quota", &DivisionOptions::default()).fair_share;
    let shown = |name: &str| {
        let queue = tree.find(name).unwrap();
        let position =
            QueueAllocation { tree: &tree, queue, allocated: tree.allocated.row(queue), fair_share: shares.row(queue) };
        let ratios: Vec<String> = (0..tree.slots.len()).map(|c| position.saturation(c).to_string()).collect();
        (position.worst_state(), ratios.join(" "))
    };
    // cpu, fpga, gpu. gpu: 4 + 1 quota, 1 at its limit, the other 4 by halves.
    assert_eq!(shown("in"), (QueueState::InQuota, "0 0 0.666666666667".to_owned()));
    assert_eq!(shown("over"), (QueueState::OverQuota, "0 0 0.666666666667".to_owned()));
    assert_eq!(shown("above"), (QueueState::OverFairShare, "0 0 3".to_owned()));
    assert_eq!(shown("inf"), (QueueState::OverFairShare, "0 inf 0".to_owned()));
}

#[test]
fn each_step_of_the_queue_order() {
    let gpu = |n: u32| json!({"gpu": n});
    let table = [
        (
            "over the fair share last, whatever the priority",
            json!([
                {"name": "over", "priority": 9, "request": gpu(9), "limit": gpu(1), "allocated": gpu(2)},
                {"name": "fine", "request": gpu(9)},
            ]),
            ["fine", "over"],
        ),
        (
            "in quota with the next workload first",
            json!([
                {"name": "a", "priority": 9, "quota": gpu(2), "request": gpu(9), "allocated": gpu(1), "next_request": gpu(2)},
                {"name": "b", "quota": gpu(2), "request": gpu(9), "allocated": gpu(1), "next_request": gpu(1)},
            ]),
            ["b", "a"],
        ),
        (
            "priority",
            json!([
                {"name": "a", "quota": gpu(1), "request": gpu(9)},
                {"name": "b", "priority": 1, "quota": gpu(1), "request": gpu(9), "allocated": gpu(1)},
            ]),
            ["b", "a"],
        ),
        (
            "holding what it may not have",
            json!([
                {"name": "a", "over_quota_weight": 0, "request": gpu(9), "next_request": gpu(1)},
                {"name": "b", "request": gpu(9), "allocated": gpu(5), "next_request": gpu(1)},
            ]),
            ["b", "a"],
        ),
        (
            "smaller dominant share with the next workload",
            json!([
                {"name": "a", "request": gpu(9), "allocated": gpu(1), "next_request": gpu(3)},
                {"name": "b", "request": gpu(9), "allocated": gpu(2), "next_request": gpu(1)},
            ]),
            ["b", "a"],
        ),
        (
            "smaller dominant share without it",
            json!([
                {"name": "a", "request": gpu(9), "allocated": gpu(2), "next_request": gpu(1)},
                {"name": "b", "request": gpu(9), "allocated": gpu(1), "next_request": gpu(2)},
            ]),
            ["b", "a"],
        ),
        (
            "smaller allocatable share",
            json!([
                {"name": "a", "over_quota_weight": 2, "request": gpu(9)},
                {"name": "b", "request": gpu(9)},
            ]),
            ["b", "a"],
        ),
        (
            "age",
            json!([
                {"name": "a", "created_at": "2026-01-02T00:00:00Z", "request": gpu(9)},
                {"name": "b", "created_at": "2026-01-01T00:00:00Z", "request": gpu(9)},
            ]),
            ["b", "a"],
        ),
    ];
    for (step, queues, expected) in table {
        assert_eq!(order(queues, json!({"gpu": 10})), expected, "{step}");
    }
}

/// The component-wise step is no total order: x before y by slot, y before z and z before x by age.
#[test]
fn an_order_that_runs_in_circles_is_settled() {
    let queue = |name: &str, day: u32, gpu: u32, cpu: u32| {
        json!({"name": name, "created_at": format!("2026-01-0{day}T00:00:00Z"), "quota": {"gpu": gpu, "cpu": cpu},
               "request": {"gpu": 5, "cpu": 5}, "over_quota_weight": 0})
    };
    let queues = json!([queue("x", 3, 1, 2), queue("y", 1, 2, 3), queue("z", 2, 3, 1)]);
    assert_eq!(order(queues, json!({"gpu": 9, "cpu": 9})), ["z", "x", "y"]);
}

#[test]
fn siblings_in_order_depth_first() {
    let queues = json!([
        {"name": "low"},
        {"name": "low1", "parent": "low", "request": {"gpu": 1}},
        {"name": "high", "priority": 1},
        {"name": "high1", "parent": "high", "request": {"gpu": 1}},
        {"name": "high2", "parent": "high", "priority": 3, "request": {"gpu": 1}},
    ]);
    assert_eq!(order(queues, json!({"gpu": 10})), ["high", "high2", "high1", "low", "low1"]);
}

#[test]
fn scores_add_up_their_parts() {
    let tree = tree(
        json!([
            {"name": "a", "priority": 2, "request": {"gpu": 9}, "allocated": {"gpu": 4}},
            {"name": "b", "priority": 1, "request": {"gpu": 9}, "allocated": {"gpu": 3}},
            {"name": "c", "priority": 0, "request": {"gpu": 9}, "allocated": {"gpu": 2}},
        ]),
        json!({"gpu": 9}),
    );
    let shares = divide(&tree, "proportion", &DivisionOptions::default()).fair_share;
    let options = super::support::options(json!({"score_weights": {"priority": 3, "drf": 1, "proportion": "0.5"}}));
    let scores = queue_scores(&tree, &shares, &options.score.score_weights);
    let parts = scores.iter().map(|s| [s.total, s.priority, s.drf, s.proportion].map(f64_text).join(" "));
    assert_eq!(parts.collect::<Vec<_>>(), ["3 3 0 0", "2.25 1.5 0.5 0.25", "1.5 0 1 0.5"]);
    assert_eq!(by_score(&tree, &scores), [0, 1, 2]);
}
