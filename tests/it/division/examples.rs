//! The worked examples of all sources, as printed there.

use fairshared::domain::division::{DivisionTrace, algorithm};
use serde_json::{Value, json};

use super::support::{amount, capacity, divide, expect, options, shares, specs, tree};

/// Run:ai: 36 GPUs, 20 of them unused; over-quota weights 2, 3, 1.
fn run_ai() -> Value {
    json!([
        {"name": "p1", "over_quota_weight": 2, "quota": {"gpu": 10}, "request": {"gpu": 36}},
        {"name": "p2", "over_quota_weight": 3, "quota": {"gpu": 6}, "request": {"gpu": 36}},
        {"name": "p3", "over_quota_weight": 1, "request": {"gpu": 36}},
    ])
}

#[test]
fn run_ai_projects() {
    let exact = [("p1", "16.666666666667"), ("p2", "16"), ("p3", "3.333333333333")];
    expect("quota_over_quota", &json!({}), run_ai(), json!({"gpu": 36}), &exact);
    let whole = [("p1", "17"), ("p2", "16"), ("p3", "3")];
    expect("quota_over_quota", &json!({"rounding": "whole"}), run_ai(), json!({"gpu": 36}), &whole);
    expect("quota_over_quota", &json!({"rounding": "kai"}), run_ai(), json!({"gpu": 36}), &whole);
}

#[test]
fn the_sentence_of_run_ais_project() {
    let tree = tree(run_ai(), json!({"gpu": 36}));
    let mut trace = DivisionTrace::on();
    let shares = algorithm("quota_over_quota").unwrap().divide(&tree, &options(json!({})), &mut trace);
    let explained = trace.explain(&tree, |q, c| shares.fair_share[(q, c)]).unwrap();
    assert_eq!(explained[1].sentence, "gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused");
    assert_eq!(explained[2].sentence, "gets 3.333333333333 of 36 gpu: 1/6 of the 20 unused");
    // The last digit is a gift of its own, so that the steps add up to the share.
    assert!(explained[0].sentence.ends_with("+ 0.000000000001 last digit"), "{}", explained[0].sentence);
}

#[test]
fn departments_divide_by_quota() {
    let queues = json!([
        {"name": "d1", "quota": {"gpu": 4}, "over_quota_weight": 9, "request": {"gpu": 30}},
        {"name": "d2", "quota": {"gpu": 2}, "request": {"gpu": 30}},
    ]);
    let by_quota = [("d1", "12"), ("d2", "6")];
    expect("quota_over_quota", &json!({"over_quota_by": "quota"}), queues, json!({"gpu": 18}), &by_quota);
}

#[test]
fn children_divide_as_their_parent_says() {
    let queues = json!([
        {"name": "d", "children_over_quota_by": "quota", "quota": {"gpu": 12}},
        {"name": "a", "parent": "d", "quota": {"gpu": 2}, "request": {"gpu": 30}},
        {"name": "b", "parent": "d", "quota": {"gpu": 1}, "request": {"gpu": 30}},
    ]);
    expect("quota_over_quota", &json!({}), queues, json!({"gpu": 12}), &[("d", "12"), ("a", "8"), ("b", "4")]);
}

/// Appendix A's known oddity, which `whole` must not have.
#[test]
fn whole_devices_finish_a_priority_before_the_next() {
    let queues = || {
        json!([
            {"name": "a", "priority": 2, "created_at": "2026-01-01T00:00:00Z", "request": {"gpu": 9}},
            {"name": "b", "priority": 2, "created_at": "2026-01-02T00:00:00Z", "request": {"gpu": 9}},
            {"name": "c", "priority": 1, "request": {"gpu": 9}},
        ])
    };
    let expected = [("kai", ["2", "2", "1"]), ("whole", ["3", "2", "0"]), ("exact", ["2.5", "2.5", "0"])];
    for (rounding, [a, b, c]) in expected {
        let opts = json!({"rounding": rounding});
        expect("quota_over_quota", &opts, queues(), json!({"gpu": 5}), &[("a", a), ("b", b), ("c", c)]);
    }
}

#[test]
fn whole_keeps_the_fraction_of_who_has_all() {
    let queues = json!([
        {"name": "small", "request": {"gpu": "0.5"}},
        {"name": "a", "request": {"gpu": 9}},
        {"name": "b", "request": {"gpu": 9}},
    ]);
    let expected = [("small", "0.5"), ("a", "4"), ("b", "3")];
    expect("quota_over_quota", &json!({"rounding": "whole"}), queues.clone(), json!({"gpu": "7.5"}), &expected);
    let only_gpu = json!({"rounding": "whole", "whole_slots": ["other"]});
    expect(
        "quota_over_quota",
        &only_gpu,
        queues,
        json!({"gpu": "7.5"}),
        &[("small", "0.5"), ("a", "3.5"), ("b", "3.5")],
    );
}

/// In KAI's rounding a unit may exceed a fractional demand; in this service it never does.
#[test]
fn a_unit_above_demand_is_kais_alone() {
    let queues = || json!([{"name": "a", "request": {"gpu": "2.6"}}, {"name": "b", "request": {"gpu": "2.6"}}]);
    expect("quota_over_quota", &json!({"rounding": "kai"}), queues(), json!({"gpu": 5}), &[("a", "3"), ("b", "2")]);
    expect("quota_over_quota", &json!({"rounding": "whole"}), queues(), json!({"gpu": 5}), &[("a", "2.6"), ("b", "2")]);
}

#[test]
fn quotas_are_not_cut_to_the_total() {
    let queues = json!([
        {"name": "a", "quota": {"gpu": 8}, "request": {"gpu": 20}},
        {"name": "b", "quota": {"gpu": "unlimited"}, "request": {"gpu": 20}},
    ]);
    let tree = tree(queues, json!({"gpu": 10}));
    let divided = divide(&tree, "quota_over_quota", &options(json!({})));
    let shown = shares(&tree, &divided);
    assert_eq!((shown["a"].as_str(), shown["b"].as_str()), ("8", "10"));
    assert_eq!(divided.remaining, [amount("0")]);
    assert_eq!(divided.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), ["over_committed"]);
}

/// w + k (w - u), w = 1/2 each: with k = 1, a has 1 - 0.4 = 0.6 and b has 1 - 0 = 1.
#[test]
fn history_bends_the_weights() {
    let queues = || {
        json!([
            {"name": "a", "request": {"gpu": 99}, "usage": {"gpu": "0.4"}},
            {"name": "b", "request": {"gpu": 99}},
        ])
    };
    for rounding in ["exact", "kai"] {
        let opts = json!({"history_gain": 1, "rounding": rounding});
        expect("quota_over_quota", &opts, queues(), json!({"gpu": 16}), &[("a", "6"), ("b", "10")]);
        // Among siblings a's usage is all there is: 1 - 1 = 0.
        let siblings = json!({"history_gain": 1, "history_base": "siblings", "rounding": rounding});
        expect("quota_over_quota", &siblings, queues(), json!({"gpu": 16}), &[("a", "0"), ("b", "16")]);
    }
}

#[test]
fn ytsaurus_ratios() {
    let queues = |weight: u32, third: bool| {
        let mut queues = vec![
            json!({"name": "A", "weight": weight, "min_share_ratio": "0.6", "request": {"cpu": 1000}}),
            json!({"name": "B", "min_share_ratio": "0.2", "request": {"cpu": 1000}}),
        ];
        if third {
            queues.push(json!({"name": "C", "request": {"cpu": 1000}}));
        }
        Value::Array(queues)
    };
    let table = [
        (queues(1, false), vec![("A", "0.6"), ("B", "0.4")]),
        (queues(3, false), vec![("A", "0.75"), ("B", "0.25")]),
        (queues(1, true), vec![("A", "0.6"), ("B", "0.2"), ("C", "0.2")]),
    ];
    for (queues, expected) in table {
        expect("min_share", &json!({}), queues.clone(), json!({"cpu": 1}), &expected);
        let tree = tree(queues, json!({"cpu": 50}));
        let ratios = divide(&tree, "min_share", &options(json!({}))).ratios.unwrap();
        for (queue, ratio) in expected {
            let ratios = ratios[tree.find(queue).unwrap()];
            assert_eq!((ratios.fair_share, ratios.guaranteed), (amount(ratio), amount(ratio)), "{queue}");
            assert_eq!((ratios.demand, ratios.usage), (amount("20"), amount("0")));
        }
    }
}

#[test]
fn on_top_divides_what_minimum_shares_leave() {
    let queues = json!([
        {"name": "A", "min_share_ratio": "0.6", "request": {"cpu": 10}},
        {"name": "B", "min_share_ratio": "0.2", "request": {"cpu": 10}},
    ]);
    expect("min_share", &json!({"rule": "on_top"}), queues, json!({"cpu": 10}), &[("A", "7"), ("B", "3")]);
}

#[test]
fn minimum_shares_above_one_are_scaled_and_the_upper_limit_wins() {
    let queues = json!([
        {"name": "A", "min_share_ratio": "0.9", "request": {"cpu": 10}},
        {"name": "B", "min_share_ratio": "0.6", "request": {"cpu": 10}},
        {"name": "C", "min_share_ratio": "0.3", "request": {"cpu": 10}, "limit": {"cpu": 1}},
    ]);
    // Scaled by 1/1.8 to 0.5, 1/3, 1/6; C may have 0.1 only, and what it leaves goes to B, who is below A.
    let expected = [("A", "5"), ("B", "4"), ("C", "1")];
    expect("min_share", &json!({}), queues, json!({"cpu": 10}), &expected);
}

#[test]
fn a_fifo_queue_serves_one_after_the_other() {
    let queues = json!([
        {"name": "pool", "mode": "fifo"},
        {"name": "late", "parent": "pool", "created_at": "2026-01-02T00:00:00Z", "min_share_ratio": 1, "request": {"cpu": 4}},
        {"name": "early", "parent": "pool", "created_at": "2026-01-01T00:00:00Z", "request": {"cpu": 4}},
        {"name": "heavy", "parent": "pool", "created_at": "2026-01-03T00:00:00Z", "weight": 2, "request": {"cpu": 3}},
        {"name": "first", "parent": "pool", "created_at": "2026-01-04T00:00:00Z", "priority": 1, "request": {"cpu": 2}},
    ]);
    let expected = [("first", "2"), ("heavy", "3"), ("early", "4"), ("late", "1"), ("pool", "10")];
    expect("min_share", &json!({}), queues, json!({"cpu": 10}), &expected);
}

#[test]
fn weight_zero_gets_its_minimum_only() {
    let queues = json!([
        {"name": "A", "weight": 0, "min_share_ratio": "0.1", "request": {"cpu": 10}},
        {"name": "B", "request": {"cpu": 5}},
    ]);
    let tree = tree(queues, json!({"cpu": 10}));
    let divided = divide(&tree, "min_share", &options(json!({})));
    let shown = shares(&tree, &divided);
    assert_eq!((shown["A"].as_str(), shown["B"].as_str()), ("1", "5"));
    assert_eq!(divided.remaining, [amount("4")]);
}

/// kube-batch's reclaim page: two queues share the cluster; a third one lowers what they deserve.
#[test]
fn kube_batch_third_queue() {
    let queue = |name: &str| json!({"name": name, "request": {"cpu": 12, "memory": 24}});
    let slots = json!({"cpu": 12, "memory": 24});
    let two = json!([queue("q1"), queue("q2")]);
    expect("proportion", &json!({}), two, slots.clone(), &[("q1", "6 12"), ("q2", "6 12")]);
    let three = json!([queue("q1"), queue("q2"), queue("q3")]);
    let expected = [("q1", "4 8"), ("q2", "4 8"), ("q3", "4 8")];
    for variant in ["kube_batch", "volcano"] {
        expect("proportion", &json!({"proportion_variant": variant}), three.clone(), slots.clone(), &expected);
    }
}

/// A queue is met only when it is below its part on all slots; Volcano caps slot by slot.
#[test]
fn the_two_variants_of_proportion() {
    let queues = json!([
        {"name": "a", "request": {"cpu": 2, "memory": 20}},
        {"name": "b", "request": {"cpu": 20, "memory": 20}},
    ]);
    let slots = json!({"cpu": 10, "memory": 10});
    expect("proportion", &json!({}), queues.clone(), slots.clone(), &[("a", "5 5"), ("b", "5 5")]);
    let volcano = json!({"proportion_variant": "volcano"});
    expect("proportion", &volcano, queues, slots, &[("a", "2 5"), ("b", "8 5")]);
    let met = json!([
        {"name": "a", "weight": 3, "request": {"cpu": 2, "memory": 1}},
        {"name": "b", "request": {"cpu": 20, "memory": 20}},
    ]);
    let slots = json!({"cpu": 10, "memory": 10});
    expect("proportion", &json!({}), met, slots, &[("a", "2 1"), ("b", "8 9")]);
}

#[test]
fn volcano_keeps_guarantees() {
    let queues = json!([
        {"name": "a", "guarantee": {"cpu": 6}, "request": {"cpu": 1}},
        {"name": "b", "request": {"cpu": 20}},
        {"name": "c", "limit": {"cpu": 9}, "request": {"cpu": 20}},
    ]);
    let volcano = json!({"proportion_variant": "volcano"});
    expect("proportion", &volcano, queues, json!({"cpu": 10}), &[("a", "6"), ("b", "2"), ("c", "2")]);
}

/// No other queue may use what is reserved, so that a weight of 0 must not lose it.
#[test]
fn volcano_keeps_the_guarantee_of_a_queue_of_weight_0() {
    let volcano = json!({"proportion_variant": "volcano"});
    let queue = |name: &str, weight: u32, guarantee: u32, request: u32| json!({"name": name, "weight": weight, "guarantee": {"gpu": guarantee}, "request": {"gpu": request}});
    let divided = |queues: Value, expected: &[(&str, &str)]| {
        expect("proportion", &volcano, queues, json!({"gpu": 10}), expected);
    };
    divided(json!([queue("a", 1, 0, 40), queue("b", 0, 3, 5)]), &[("a", "7"), ("b", "3")]);
    divided(json!([queue("alone", 0, 3, 5)]), &[("alone", "3")]);
    // Without demand, as with a weight.
    divided(json!([queue("a", 1, 0, 40), queue("b", 0, 3, 0)]), &[("a", "7"), ("b", "3")]);
    // Together above the capacity: cut in proportion, whatever the weights.
    divided(
        json!([queue("a", 1, 12, 40), queue("b", 0, 8, 40), queue("c", 5, 0, 9)]),
        &[("a", "6"), ("b", "4"), ("c", "0")],
    );
    // A child's comes out of its parent's share.
    let child = |mut queue: Value| {
        queue["parent"] = json!("p");
        queue
    };
    let family = json!([
        {"name": "p", "limit": {"gpu": 4}}, child(queue("a", 1, 0, 40)), child(queue("b", 0, 3, 5)), queue("c", 1, 0, 40),
    ]);
    divided(family, &[("p", "4"), ("a", "1"), ("b", "3"), ("c", "6")]);
}

/// NSDI'11: 9 CPU and 18 GB; tasks of <1, 4> and <3, 1>: 3 tasks and 2 tasks.
#[test]
fn nsdi_dominant_resource_fairness() {
    let queues = json!([
        {"name": "A", "request": {"cpu": 9, "memory": 36}},
        {"name": "B", "request": {"cpu": 54, "memory": 18}},
    ]);
    expect("drf", &json!({}), queues, json!({"cpu": 9, "memory": 18}), &[("A", "3 12"), ("B", "6 2")]);
}

fn check_steps(name: &str, opts: &Value, queues: Value, slots: Value) {
    let tree = fairshared::domain::division::QueueTree::build(&specs(queues), &capacity(slots)).unwrap();
    let mut trace = DivisionTrace::on();
    let shares = algorithm(name).unwrap().divide(&tree, &options(opts.clone()), &mut trace);
    for (queue, explained) in trace.explain(&tree, |q, c| shares.fair_share[(q, c)]).unwrap().iter().enumerate() {
        let sum: i128 = explained.steps.iter().map(|s| s.gift.units()).sum();
        let share = i128::try_from(shares.fair_share[(queue, 0)].units()).unwrap();
        assert_eq!(sum, share, "{opts} {}: {:#?}", explained.queue, explained.steps);
    }
}

#[test]
fn every_step_of_a_trace_adds_up_to_the_share() {
    let queues = json!([
        {"name": "a", "over_quota_weight": 3, "request": {"gpu": "2.5"}},
        {"name": "b", "over_quota_weight": 2, "quota": {"gpu": 1}, "request": {"gpu": 7}},
        {"name": "c", "request": {"gpu": 20}, "limit": {"gpu": 3}},
        {"name": "d", "request": {"gpu": 20}},
    ]);
    for opts in [json!({}), json!({"rounding": "whole"}), json!({"rounding": "kai"}), json!({"history_gain": "0.3"})] {
        check_steps("quota_over_quota", &opts, queues.clone(), json!({"gpu": 13}));
    }
    let queues = json!([
        {"name": "a", "request": {"gpu": 4}},
        {"name": "b", "request": {"gpu": 2}},
        {"name": "c", "request": {"gpu": 40}},
        {"name": "d", "weight": 0, "guarantee": {"gpu": 3}},
    ]);
    check_steps("proportion", &json!({"proportion_variant": "volcano"}), queues, json!({"gpu": 13}));
}
