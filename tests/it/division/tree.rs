//! The tree: the input that it refuses, the values that it derives, and the warnings of the linter.

use fairshared::domain::division::{DivisionOptions, DivisionSimulation, algorithm, lint};
use fairshared::domain::queues::QueueSpec;
use serde_json::{Value, json};

use super::support::{amount, build, options, tree};

fn faults(queues: Value) -> Vec<(String, &'static str)> {
    let faults = build(queues, json!({"gpu": 8})).expect_err("faults");
    faults.into_iter().map(|f| (f.pointer, f.code)).collect()
}

#[test]
fn faults_name_their_place() {
    let queues = json!([
        {"name": "a", "parent": "nobody"},
        {"name": "b"},
        {"name": "b"},
        {"name": ""},
        {"name": "c", "weight": 1_000_001},
        {"name": "d", "over_quota_weight": {"gpu": 2_000_000_000_000_000_u64}, "usage": {"gpu": 1_000_000_000}},
    ]);
    let expected = [
        ("/queues/2/name", "duplicate_name"),
        ("/queues/3/name", "invalid_name"),
        ("/queues/0/parent", "unknown_parent"),
        ("/queues/4/weight", "out_of_range"),
        ("/queues/5/over_quota_weight", "out_of_range"),
        ("/queues/5/usage", "out_of_range"),
    ];
    assert_eq!(faults(queues), expected.map(|(pointer, code)| (pointer.to_owned(), code)));
}

#[test]
fn a_cycle_is_named_by_its_members_only() {
    let queues = json!([
        {"name": "root"},
        {"name": "below", "parent": "x"},
        {"name": "x", "parent": "y"},
        {"name": "y", "parent": "x"},
        {"name": "self", "parent": "self"},
    ]);
    let expected = [2, 3, 4].map(|at| (format!("/queues/{at}/parent"), "cycle"));
    assert_eq!(faults(queues), expected);
}

#[test]
fn negative_amounts_nan_and_unknown_keys_are_no_queues() {
    for queue in [
        json!({"name": "a", "request": {"gpu": -1}}),
        json!({"name": "a", "request": {"gpu": "-0.5"}}),
        json!({"name": "a", "weight": "NaN"}),
        json!({"name": "a", "weight": -1}),
        json!({"name": "a", "quota": {"gpu": "infinite"}}),
        json!({"name": "a", "over_quota_weight": "-1"}),
        json!({"name": "a", "over_quota_weight": []}),
        json!({"name": "a", "min_share": 1}),
        json!({"name": "a", "mode": "lifo"}),
    ] {
        assert!(serde_json::from_value::<QueueSpec>(queue.clone()).is_err(), "{queue}");
    }
}

#[test]
fn a_parent_has_the_sum_of_its_descendants_unless_it_is_given() {
    let tree = tree(
        json!([
            {"name": "leaf2", "parent": "mid", "request": {"gpu": 3}, "allocated": {"gpu": 1}},
            {"name": "top"},
            {"name": "mid", "parent": "top"},
            {"name": "leaf1", "parent": "mid", "allocated": {"gpu": 2}, "allocated_non_preemptible": {"gpu": 1}},
            {"name": "given", "parent": "top", "request": {"gpu": 7}},
            {"name": "under", "parent": "given", "request": {"gpu": 1}},
        ]),
        json!({"gpu": 8}),
    );
    let figures = |name: &str| {
        let at = (tree.find(name).unwrap(), 0);
        [&tree.request, &tree.allocated, &tree.allocated_non_preemptible].map(|grid| grid[at])
    };
    assert_eq!(figures("leaf1"), ["2", "2", "1"].map(amount), "no request is a request of what is allocated");
    assert_eq!(figures("mid"), ["5", "3", "1"].map(amount));
    assert_eq!(figures("given"), ["7", "0", "0"].map(amount));
    assert_eq!(figures("top"), ["12", "3", "1"].map(amount));
    assert!(tree.raised.is_empty());
}

#[test]
fn the_linter_warns_and_never_refuses() {
    let tree = tree(
        json!([
            {"name": "a", "quota": {"gpu": 5}, "min_share_ratio": "0.7"},
            {"name": "a1", "parent": "a", "quota": {"gpu": 6}, "limit": {"gpu": 2}, "request": {"gpu": 1}, "allocated": {"gpu": 2}},
            {"name": "a2", "parent": "a", "quota": {"gpu": 4}},
            {"name": "b", "quota": {"gpu": 4}, "min_share_ratio": "0.4", "weight": 0, "request": {"gpu": 1, "fpga": 1}},
            {"name": "c", "quota": {"gpu": 0}, "over_quota_weight": 0, "request": {"gpu": 1}},
        ]),
        json!({"gpu": 8}),
    );
    let warned = |name: &str, options: &DivisionOptions| -> Vec<_> {
        let warnings = lint(&tree, algorithm(name).unwrap(), options).into_iter();
        warnings.map(|w| (w.code, w.queue.unwrap_or_default(), w.slot)).collect()
    };
    let always = [
        ("request_below_allocation", "a1", Some("gpu")),
        ("quota_above_capacity", "", Some("gpu")),
        ("min_shares_above_1", "", None),
        ("children_quota_above_parent", "a", Some("gpu")),
        ("limit_below_quota", "a1", Some("gpu")),
    ];
    let weightless = "zero_weight_with_demand";
    let by_quota = options(json!({"over_quota_by": "quota"}));
    for (name, options, expected) in [
        ("quota_over_quota", DivisionOptions::default(), Some((weightless, "c", Some("gpu")))),
        ("quota_over_quota", by_quota, None),
        ("min_share", DivisionOptions::default(), Some((weightless, "b", None))),
        ("proportion", DivisionOptions::default(), Some((weightless, "b", None))),
        ("drf", DivisionOptions::default(), Some((weightless, "b", None))),
    ] {
        let expected = always.into_iter().chain(expected).chain([("no_capacity", "", Some("fpga"))]);
        let expected: Vec<_> = expected.map(|(code, queue, slot)| (code, queue.to_owned(), slot)).collect();
        assert_eq!(warned(name, &options), expected, "{name}");
    }
}

/// A `fifo` queue under `min_share` orders its children by weight, and no child gets less for it.
#[test]
fn the_linter_knows_what_is_read() {
    let tree = tree(
        json!([
            {"name": "line", "mode": "fifo", "guarantee": {"gpu": 1, "cpu": 1}},
            {"name": "a", "parent": "line", "weight": 0, "guarantee": {"gpu": 0}, "request": {"gpu": 1}},
        ]),
        json!({"gpu": 8, "cpu": 8}),
    );
    let volcano = options(json!({"proportion_variant": "volcano"}));
    for (name, options, expected) in [
        ("quota_over_quota", &volcano, &[("guarantee_not_read", "line")][..]),
        ("min_share", &volcano, &[("guarantee_not_read", "line")]),
        ("drf", &volcano, &[("guarantee_not_read", "line"), ("zero_weight_with_demand", "a")]),
        (
            "proportion",
            &DivisionOptions::default(),
            &[("guarantee_not_read", "line"), ("zero_weight_with_demand", "a")],
        ),
        ("proportion", &volcano, &[("zero_weight_with_demand", "a")]),
    ] {
        let warnings = lint(&tree, algorithm(name).unwrap(), options);
        let found: Vec<_> = warnings.iter().map(|w| (w.code, w.queue.as_deref().unwrap_or_default())).collect();
        assert_eq!(found, expected, "{name} {options:?}");
    }
}

fn report(simulation: Value) -> Value {
    let simulation: DivisionSimulation = serde_json::from_value(simulation).unwrap();
    serde_json::to_value(simulation.run().unwrap()).unwrap()
}

fn codes(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    report["warnings"].as_array().unwrap().iter().map(|w| (text(&w["code"]), text(&w["queue"]))).collect()
}

fn told(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(code, queue)| ((*code).to_owned(), (*queue).to_owned())).collect()
}

/// KAI: a queue that asks for less than it holds deserves what it asks for.
#[test]
fn a_request_below_the_allocation_stands() {
    let report = report(json!({"algorithm": "quota_over_quota", "capacity": {"gpu": 9}, "queues": [
        {"name": "a", "quota": {"gpu": 4}, "request": {"gpu": 1}, "allocated": {"gpu": 4}},
        {"name": "b", "quota": {"gpu": 2}, "request": {"gpu": 8}, "allocated": {"gpu": 2}},
        {"name": "p"},
        {"name": "c", "parent": "p", "request": {"gpu": 1}, "allocated": {"gpu": 2}},
        {"name": "d", "parent": "p", "allocated": {"gpu": 1}},
    ]}));
    let shares: Vec<_> = report["queues"].as_array().unwrap().iter().map(|q| q["fair_share"]["gpu"].clone()).collect();
    assert_eq!(shares, ["1", "6", "2", "1", "1"]);
    assert_eq!(codes(&report), told(&[("request_below_allocation", "c"), ("request_below_allocation", "a")]));
}

#[test]
fn a_quota_above_the_limit_counts_as_the_limit() {
    let of = |quota: Value| {
        report(
            json!({"algorithm": "quota_over_quota", "options": {"over_quota_by": "quota"}, "capacity": {"gpu": 10}, "queues": [
                {"name": "a", "quota": quota, "limit": {"gpu": 4}, "request": {"gpu": 10}, "allocated": {"gpu": 5}},
                {"name": "b", "quota": {"gpu": 2}, "request": {"gpu": 10}},
                {"name": "c", "quota": {"gpu": 1}, "request": {"gpu": 10}},
            ]}),
        )
    };
    let at_limit = of(json!({"gpu": 4}));
    assert_eq!(
        (&at_limit["queues"][0]["state"], &at_limit["queues"][0]["fair_share"]["gpu"]),
        (&json!("over_fair_share"), &json!("4"))
    );
    assert_eq!(codes(&at_limit), []);
    for quota in [json!({"gpu": 6}), json!({"gpu": "unlimited"})] {
        let above = of(quota);
        assert_eq!((&above["queues"], &above["order"]), (&at_limit["queues"], &at_limit["order"]));
        assert_eq!(codes(&above), told(&[("limit_below_quota", "a")]));
    }
}

#[test]
fn minimum_shares_below_a_parent_are_told() {
    let of = |wanted: u32| {
        codes(&report(json!({"algorithm": "min_share", "capacity": {"cpu": 100}, "queues": [
            {"name": "p", "min_share_ratio": "0.5"},
            {"name": "a", "parent": "p", "min_share_ratio": "0.6", "request": {"cpu": 100}},
            {"name": "b", "parent": "p", "min_share_ratio": 0.3, "request": {"cpu": wanted}},
            {"name": "q", "request": {"cpu": 100}},
        ]})))
    };
    let nested = [("nested_min_share", "a"), ("nested_min_share", "b")];
    let scaled = told(&[nested[0], nested[1], ("min_shares_scaled", "p")]);
    assert_eq!((of(100), of(20)), (scaled.clone(), scaled));
    // A guarantee of what is not wanted was not cut.
    let modest = codes(&report(json!({"algorithm": "min_share", "capacity": {"cpu": 100}, "queues": [
        {"name": "p", "min_share_ratio": "0.5"},
        {"name": "a", "parent": "p", "min_share_ratio": "0.6", "request": {"cpu": 30}},
        {"name": "b", "parent": "p", "min_share_ratio": 0.3, "request": {"cpu": 10}},
    ]})));
    assert_eq!(modest, told(&nested));
}

#[test]
fn bytes_may_be_over_quota_weights() {
    let bytes = [("a", "1000000000000000"), ("b", "500000000000000")];
    let queue = |(name, weight): (&str, &str)| json!({"name": name, "over_quota_weight": weight, "request": {"mem": "1000000000000000000"}});
    let queues = Value::Array(bytes.map(queue).to_vec());
    for rounding in ["exact", "whole", "kai"] {
        let report = report(
            json!({"algorithm": "quota_over_quota", "options": {"rounding": rounding}, "capacity": {"mem": "3000000000000"}, "queues": queues}),
        );
        let shares: Vec<_> =
            report["queues"].as_array().unwrap().iter().map(|q| q["fair_share"]["mem"].clone()).collect();
        assert_eq!(shares, ["2000000000000", "1000000000000"], "{rounding}");
    }
}
