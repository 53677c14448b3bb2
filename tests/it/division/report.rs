//! The stateless interface: its input and its output.

use fairshared::domain::division::{DivisionSimulation, saturation_ratios};
use fairshared::domain::slots::SlotAmounts;
use serde_json::{Value, json};

fn run(request: Value) -> Result<Value, Vec<(String, &'static str)>> {
    let simulation: DivisionSimulation = serde_json::from_value(request).expect("a readable request");
    match simulation.run() {
        Ok(report) => Ok(serde_json::to_value(report).expect("JSON")),
        Err(faults) => Err(faults.into_iter().map(|f| (f.pointer, f.code)).collect()),
    }
}

#[test]
fn every_key_of_the_answer() {
    let report = run(json!({
        "algorithm": "min_share",
        "capacity": {"gpu": "10"},
        "queues": [{"name": "a", "request": {"gpu": 4}, "allocated": {"gpu": "1.50"}, "quota": {"gpu": 1}}],
        "explain": true,
    }));
    let expected = json!({
        "queues": [{
            "name": "a",
            "fair_share": {"gpu": "4"},
            "state": "over_quota",
            "slot_states": {"gpu": "over_quota"},
            "saturation_ratio": {"gpu": "0.375"},
            "dominant_share": "0.375",
            "score": {"total": "3", "priority": "1", "drf": "1", "proportion": "1"},
            "usage_ratio": "0.15",
            "demand_ratio": "0.4",
            "fair_share_ratio": "0.4",
            "guaranteed_ratio": "1",
        }],
        "order": ["a"],
        "score_order": ["a"],
        "remaining": {"gpu": "6"},
        "warnings": [],
        "trace": [{
            "queue": "a",
            "sentence": "is to have 0.4 of the whole (all it asks for); gets 4 of 10 gpu",
            "steps": [{"rule": "demand", "gift": "0.4"}],
        }],
    });
    assert_eq!(report, Ok(expected));
}

#[test]
fn ratios_and_trace_only_where_there_are_any() {
    let report = run(json!({"algorithm": "drf", "capacity": {}, "queues": [{"name": "a"}]})).expect("a report");
    assert!(report.get("trace").is_none() && report["queues"][0].get("usage_ratio").is_none(), "{report}");
}

#[test]
fn faults_of_all_parts_come_together() {
    let request = json!({
        "algorithm": "lottery",
        "options": {"history_gain": 2_000_000},
        "capacity": {"gpu": 1},
        "queues": [{"name": "a", "parent": "b"}],
    });
    let expected = [
        ("/algorithm", "unknown_algorithm"),
        ("/options/history_gain", "out_of_range"),
        ("/queues/0/parent", "unknown_parent"),
    ];
    assert_eq!(run(request), Err(expected.map(|(pointer, code)| (pointer.to_owned(), code)).to_vec()));
}

#[test]
fn unknown_keys_are_refused_everywhere() {
    for request in [
        json!({"algorithm": "drf", "capacity": {}, "queues": [], "verbose": true}),
        json!({"algorithm": "drf", "capacity": {}, "queues": [], "options": {"round": "exact"}}),
        json!({"algorithm": "drf", "capacity": {}, "queues": [], "options": {"score_weights": {"gang": 1}}}),
        json!({"algorithm": "drf", "capacity": {}, "queues": [{"name": "a", "colour": "red"}]}),
        json!({"algorithm": "drf", "queues": []}),
    ] {
        assert!(serde_json::from_value::<DivisionSimulation>(request.clone()).is_err(), "{request}");
    }
}

/// The sentences of the trace about every queue of a request.
pub fn sentences(request: Value) -> Vec<String> {
    let report = run(request).expect("a report");
    let told = report["trace"].as_array().expect("a trace").iter();
    told.map(|t| format!("{} {}", t["queue"].as_str().unwrap_or(""), t["sentence"].as_str().unwrap_or(""))).collect()
}

#[test]
fn sentences_read_aloud() {
    let queues = |algorithm: &str, queues: Value| json!({"algorithm": algorithm, "capacity": {"gpu": 100}, "queues": queues, "explain": true});
    let all = json!({"gpu": 100});
    let ratios = json!([
        {"name": "a", "min_share_ratio": "0.5", "weight": 1, "request": all},
        {"name": "b", "weight": 3, "request": all},
        {"name": "c", "request": {"gpu": 5}, "weight": 9},
    ]);
    assert_eq!(
        sentences(queues("min_share", ratios)),
        [
            "a is to have 0.5 of the whole (its minimum share); gets 50 of 100 gpu",
            "b is to have 0.45 of the whole (3/3 of 0.45 by weight); gets 45 of 100 gpu",
            "c is to have 0.05 of the whole (all it asks for); gets 5 of 100 gpu",
        ]
    );
    // A child gets its part of what its parent gets.
    let family = json!([
        {"name": "p", "weight": 3}, {"name": "q", "weight": 1, "request": all},
        {"name": "x", "parent": "p", "request": {"gpu": 40}}, {"name": "y", "parent": "p", "request": all},
    ]);
    let told = sentences(queues("proportion", family.clone()));
    assert_eq!(told[0], "p gets 75 of 100 gpu: 3/4 of the 100 left");
    assert!(told[2].starts_with("x gets 37.5 of p's 75 gpu: "), "{told:?}");
    let told = sentences(queues("quota_over_quota", family));
    assert!(told[3].starts_with("y gets 25 of p's 50 gpu: "), "{told:?}");
    assert!(told.iter().all(|t| !t.contains('_')), "{told:?}");
}

#[test]
fn minimum_shares_above_the_whole_say_whose() {
    let queue = |name: &str, parent: Option<&str>| json!({"name": name, "parent": parent, "min_share_ratio": "0.8"});
    let queues = [queue("a", None), queue("b", None), queue("x", Some("a")), queue("y", Some("a"))];
    let report = run(json!({"algorithm": "min_share", "capacity": {}, "queues": queues})).expect("a report");
    let details: Vec<_> = report["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .filter(|w| w["code"] == "min_shares_above_1")
        .map(|w| (&w["queue"], &w["detail"]))
        .collect();
    let end = "add up to 1.6, above 1, and are scaled down";
    assert_eq!(
        details,
        [
            (&Value::Null, &json!(format!("the minimum shares of the queues without a parent {end}"))),
            (&json!("a"), &json!(format!("the minimum shares of its children {end}"))),
        ]
    );
}

#[test]
fn a_queue_without_a_division_has_the_saturation_of_every_slot() {
    let amounts = |written: Value| serde_json::from_value::<SlotAmounts>(written).expect("amounts");
    let ratios = saturation_ratios(
        &amounts(json!({"cpu": "2", "gpu": "1", "mem": "0"})),
        &amounts(json!({"cpu": "4", "mem": "0", "tpu": "1"})),
    );
    assert_eq!(serde_json::to_value(ratios).unwrap(), json!({"cpu": "0.5", "gpu": "inf", "mem": "0", "tpu": "0"}));
}
