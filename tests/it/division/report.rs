//! The stateless shape: what goes in, what comes out.

use fairshared::domain::division::Simulation;
use serde_json::{Value, json};

fn run(request: Value) -> Result<Value, Vec<(String, &'static str)>> {
    let simulation: Simulation = serde_json::from_value(request).expect("a readable request");
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
            "sentence": "gets a ratio of 0.4 demand; gets 4 of 10 gpu",
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
        assert!(serde_json::from_value::<Simulation>(request.clone()).is_err(), "{request}");
    }
}
