//! Hostile input: a defined result, never a panic, a hang or NaN.

use fairshared::domain::division::report::order;
use fairshared::domain::division::{DivisionOptions, DivisionTrace, QueueTree, algorithm, algorithm_names};
use fairshared::domain::queues::{GivenFigures, QueueConfig, QueueSpec};
use fairshared::domain::slots::SlotAmounts;
use serde_json::{Value, json};

use super::support::{amount, capacity, divide, options, specs};

fn all_options() -> Vec<DivisionOptions> {
    [
        json!({}),
        json!({"rounding": "whole", "history_gain": 1_000_000, "rule": "on_top", "proportion_variant": "volcano"}),
        json!({"rounding": "kai", "history_gain": 1, "history_base": "siblings", "over_quota_by": "quota"}),
    ]
    .map(options)
    .into()
}

/// Every algorithm with every option; the shares must add up.
fn survives(specs: &[QueueSpec], capacity: &SlotAmounts) {
    let tree = QueueTree::build(specs, capacity).expect("a tree");
    for name in algorithm_names() {
        for options in all_options() {
            fairshared::domain::division::lint(&tree, algorithm(name).expect("an algorithm"), &options);
            let shares = divide(&tree, name, &options);
            assert_eq!(order::by_saturation(&tree, &shares.fair_share).len(), tree.len());
            let scores = order::queue_scores(&tree, &shares.fair_share, &options.score.score_weights);
            assert!(scores.iter().all(|s| s.total.is_finite()), "{name}");
            assert_eq!(order::by_score(&tree, &scores).len(), tree.len());
        }
    }
}

fn survives_json(queues: Value, slots: Value) {
    survives(&specs(queues), &capacity(slots));
}

#[test]
fn no_queues_no_capacity_no_slots() {
    survives_json(json!([]), json!({}));
    survives_json(json!([]), json!({"gpu": 1}));
    survives_json(json!([{"name": "a"}]), json!({}));
    let wants = json!([{"name": "a", "request": {"gpu": 1}, "quota": {"gpu": "unlimited"}}, {"name": "b", "request": {"gpu": 1}}]);
    survives_json(wants.clone(), json!({}));
    survives_json(wants.clone(), json!({"gpu": 0}));
    survives_json(wants, json!({"other": 1}));
}

#[test]
fn all_weights_zero() {
    let zero = |name: &str| json!({"name": name, "weight": 0, "over_quota_weight": 0, "request": {"gpu": 5}});
    let queues = json!([zero("a"), zero("b")]);
    survives_json(queues.clone(), json!({"gpu": 8}));
    let tree = QueueTree::build(&specs(queues), &capacity(json!({"gpu": 8}))).unwrap();
    for (name, each) in [("quota_over_quota", "0"), ("min_share", "0"), ("proportion", "0"), ("drf", "4")] {
        let shares = divide(&tree, name, &DivisionOptions::default());
        assert_eq!(shares.fair_share.row(0), [amount(each)], "{name}");
        assert_eq!(shares.remaining[0].units() + 2 * amount(each).units(), amount("8").units(), "{name}");
    }
}

#[test]
fn the_largest_and_the_smallest_numbers() {
    const MOST: &str = "1000000000000000000000";
    const LEAST: &str = "0.000000000001";
    let mut queues = Vec::new();
    for (at, (weight, want)) in
        [("1000000", MOST), (LEAST, MOST), ("1", LEAST), (LEAST, LEAST), ("0", MOST), ("999999.999999999999", MOST)]
            .into_iter()
            .enumerate()
    {
        queues.push(json!({
            "name": format!("q{at}"), "weight": weight, "over_quota_weight": weight, "min_share_ratio": weight,
            "request": {"gpu": want, "cpu": MOST}, "allocated": {"gpu": want}, "usage": {"gpu": weight},
            "quota": {"gpu": LEAST}, "limit": {"cpu": MOST}, "guarantee": {"gpu": want}, "priority": i32::MIN,
            "next_request": {"gpu": MOST},
        }));
    }
    for slots in [json!({"gpu": MOST, "cpu": MOST}), json!({"gpu": LEAST, "cpu": MOST}), json!({"gpu": MOST})] {
        survives_json(Value::Array(queues.clone()), slots);
    }
}

/// A queue that requests this amount.
fn asking(config: QueueConfig, request: SlotAmounts) -> QueueSpec {
    QueueSpec { given: GivenFigures { request: Some(request), ..GivenFigures::default() }, ..config.into() }
}

fn wide(count: usize) -> Vec<QueueSpec> {
    let mut specs = vec![QueueSpec::named("root")];
    specs.extend((0..count).map(|at| {
        let request = capacity(json!({"gpu": at % 97 + 1, "cpu": at % 89}));
        let (parent, weight) = (Some("root".to_owned()), amount(&(at % 13).to_string()));
        asking(QueueConfig { parent, weight, ..QueueConfig::named(format!("q{at}")) }, request)
    }));
    specs
}

#[test]
fn a_hundred_thousand_queues_under_one_parent() {
    let tree = QueueTree::build(&wide(100_000), &capacity(json!({"gpu": 1_000_000, "cpu": 900_000}))).unwrap();
    for name in algorithm_names() {
        let shares = divide(&tree, name, &DivisionOptions::default());
        let sum: u128 = (1..tree.len()).map(|q| shares.fair_share[(q, 1)].units()).sum();
        assert!(sum <= amount("1000000").units() && sum > 0, "{name}");
    }
    assert_eq!(order::by_saturation(&tree, &tree.request).len(), tree.len());
}

#[test]
fn a_chain_ten_thousand_deep() {
    let mut specs: Vec<QueueSpec> = (0..10_000)
        .map(|at: usize| {
            let parent = at.checked_sub(1).map(|above| format!("q{above}"));
            let limit = if at == 5_000 { json!({"gpu": 3}) } else { json!({}) };
            let limit = serde_json::from_value(limit).unwrap();
            QueueConfig { parent, limit, ..QueueConfig::named(format!("q{at}")) }.into()
        })
        .collect();
    specs[9_999].given.request = Some(capacity(json!({"gpu": 5})));
    let tree = QueueTree::build(&specs, &capacity(json!({"gpu": 8}))).unwrap();
    for name in algorithm_names() {
        let shares = divide(&tree, name, &DivisionOptions::default());
        assert_eq!(shares.fair_share.row(9_999), [amount("3")], "{name}");
    }
    let mut trace = DivisionTrace::on();
    fairshared::domain::division::algorithm("quota_over_quota").unwrap().divide(
        &tree,
        &DivisionOptions::default(),
        &mut trace,
    );
    assert_eq!(order::by_saturation(&tree, &tree.request).len(), 10_000);
}

/// Two slots that bind alternately: kube-batch's rounds meet one queue each.
#[test]
fn rounds_that_meet_one_queue_each_do_not_hang() {
    let count = 20_000u64;
    let specs: Vec<QueueSpec> = (0..count)
        .map(|at| {
            let need = 1_000_000_000 + at;
            let request = if at % 2 == 0 { json!({"a": need, "b": 1}) } else { json!({"a": 1, "b": need}) };
            asking(QueueConfig::named(format!("q{at}")), capacity(request))
        })
        .collect();
    let total = count * 1_000_000_001;
    let tree = QueueTree::build(&specs, &capacity(json!({"a": total, "b": total}))).unwrap();
    for variant in ["kube_batch", "volcano"] {
        divide(&tree, "proportion", &options(json!({"proportion_variant": variant})));
    }
}
