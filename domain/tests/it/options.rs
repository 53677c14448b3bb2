//! `scheduler_opts` (FAIR_SHARE §8).

use domain::options::{FairShareOptions, merge_patch};
use domain::slice::GapPolicy;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{amounts, cases, weight};

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// (pointer, code) of each fault.
fn faults(stored: Value, patch: Value) -> Vec<(String, &'static str)> {
    match merge_patch(&map(stored), &map(patch)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|e| (e.pointer, e.code)).collect(),
    }
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let options = FairShareOptions::parse(&Map::new()).expect("defaults");
    assert_eq!(options, FairShareOptions::default());
    assert_eq!(
        Value::Object(options.to_json()),
        json!({
            "half_life_days": 7, "lookback_days": 28, "decay_unit_days": 1, "slice_interval_seconds": 300,
            "default_weight": "1.0", "gap_policy": "interpolate", "max_gap_hours": 24, "resource_weights": {},
            "decay": "flat", "division": {
                "algorithm": "quota_over_quota",
                "options": {
                    "rounding": "exact", "rule": "floor", "leaves": "queues", "history_gain": "0", "history_base": "cluster",
                    "over_quota_by": "weight", "proportion_variant": "kube_batch",
                    "score_weights": {"priority": "1", "drf": "1", "proportion": "1"},
                    "policy": "strategies",
                    "tiers": [["priority", "gang", "conformance"], ["drf", "proportion", "predicates", "node_order"]],
                    "strategies": ["fair_share", "quota"], "reclaimer_utilization_multiplier": "1",
                    "node_order": "pack", "search_budget_ms": 1000,
                },
            },
            "order": "flat", "sequence_mode": "plain",
            "cycle": {
                "actions": ["allocate", "backfill", "reclaim", "preempt"], "order": "sequencer", "backfill": "skip",
            },
        })
    );
}

#[test]
fn the_proposals_options() {
    let stored = map(json!({
        "half_life_days": 14, "lookback_days": 28, "decay_unit_days": 7, "default_weight": "1.0",
        "resource_weights": {"cpu": 1.0, "mem": 1.0, "cuda.device": 10.0, "cuda.shares": 1.0},
        "gap_policy": "ignore", "max_gap_hours": 48,
    }));
    let options = FairShareOptions::parse(&stored).expect("legal");
    assert_eq!((options.half_life_days, options.decay_unit_days, options.max_gap_hours), (14, 7, 48));
    assert_eq!(options.gap_policy, GapPolicy::Ignore);
    let weights = amounts(&[("cpu", "1"), ("mem", "1"), ("cuda.device", "10"), ("cuda.shares", "1")]);
    assert_eq!(options.resource_weights, weights);
    // Stored options are read back as those in force.
    assert_eq!(FairShareOptions::parse(&options.to_json()), Ok(options));
}

#[test]
fn a_patch_merges_key_by_key() {
    let stored = map(json!({"half_life_days": 14, "default_weight": "2"}));
    let merged = merge_patch(&stored, &map(json!({"half_life_days": null, "decay": "continuous"}))).expect("legal");
    assert_eq!(merged, map(json!({"default_weight": "2", "decay": "continuous"})));
    let options = FairShareOptions::parse(&merged).expect("legal");
    assert_eq!((options.half_life_days, options.decay.name()), (7, "continuous"));
    assert_eq!(options.default_weight, weight("2"));
    // Removing what is not there is no fault, and maps are merged slot by slot.
    for key in ["lookback_days", "kernel_timeout_seconds", "expected_seconds"] {
        assert_eq!(merge_patch(&merged, &map(json!({ key: null }))), Ok(merged.clone()));
    }
    let first = merge_patch(&merged, &map(json!({"resource_weights": {"cpu": 1}}))).expect("legal");
    let second = merge_patch(&first, &map(json!({"resource_weights": {"mem": "0.5"}}))).expect("legal");
    assert_eq!(second["resource_weights"], json!({"cpu": 1, "mem": "0.5"}));
    let without = |patch| merge_patch(&second, &map(json!({ "resource_weights": patch }))).expect("legal");
    assert_eq!(without(json!({})), second);
    assert_eq!(without(json!({"cpu": null, "disk": null}))["resource_weights"], json!({"mem": "0.5"}));
    // Nothing left is as good as nothing said.
    for patch in [json!({"cpu": null, "mem": null}), Value::Null] {
        assert_eq!(without(patch), merged);
    }
}

#[test]
fn every_fault_is_named_with_its_pointer() {
    for (patch, pointer, code) in [
        (json!({"half_life_days": 0}), "/half_life_days", "out_of_range"),
        (json!({"half_life_days": -7}), "/half_life_days", "out_of_range"),
        (json!({"half_life_days": 3651}), "/half_life_days", "out_of_range"),
        (json!({"half_life_days": 7.5}), "/half_life_days", "out_of_range"),
        (json!({"half_life_days": "7"}), "/half_life_days", "out_of_range"),
        (json!({"half_life_days": 18_446_744_073_709_551_615u64}), "/half_life_days", "out_of_range"),
        (json!({"lookback_days": 0}), "/lookback_days", "out_of_range"),
        (json!({"decay_unit_days": 366}), "/decay_unit_days", "out_of_range"),
        (json!({"decay_unit_days": 29}), "/decay_unit_days", "out_of_range"),
        (json!({"slice_interval_seconds": 0}), "/slice_interval_seconds", "out_of_range"),
        (json!({"slice_interval_seconds": 86_401}), "/slice_interval_seconds", "out_of_range"),
        (json!({"max_gap_hours": 8_761}), "/max_gap_hours", "out_of_range"),
        (json!({"default_weight": "0"}), "/default_weight", "invalid_weight"),
        (json!({"default_weight": -1}), "/default_weight", "invalid_weight"),
        (json!({"default_weight": "1.00001"}), "/default_weight", "invalid_weight"),
        (json!({"default_weight": true}), "/default_weight", "invalid_weight"),
        (json!({"default_weight": {"a": 1}}), "/default_weight", "invalid_weight"),
        (json!({"gap_policy": "Ignore"}), "/gap_policy", "invalid_value"),
        (json!({"gap_policy": 3}), "/gap_policy", "invalid_value"),
        (json!({"decay": "halving"}), "/decay", "invalid_value"),
        (json!({"resource_weights": {"cpu": -1}}), "/resource_weights/cpu", "invalid_value"),
        (json!({"half_life_days": {}}), "/half_life_days", "out_of_range"),
        (json!({"division": {"options": {"rule": {}}}}), "/division/options/rule", "invalid_value"),
        (json!({"division": {"kind": null}}), "/division/kind", "unknown_option"),
        (
            json!({"division": {"options": {"score_weights": {"age": null}}}}),
            "/division/options/score_weights/age",
            "unknown_option",
        ),
        (json!({"resource_weights": []}), "/resource_weights", "invalid_value"),
        (json!({"resource_weights": {"a b": 1}}), "/resource_weights", "invalid_value"),
        (json!({"half_life": 7}), "/half_life", "unknown_option"),
        (json!({"half_life": null}), "/half_life", "unknown_option"),
        (json!({"a/b~c": 1}), "/a~1b~0c", "unknown_option"),
    ] {
        assert_eq!(faults(json!({}), patch.clone()), [(pointer.to_owned(), code)], "{patch}");
    }
    // Two at once are both named.
    let both = faults(json!({}), json!({"decay": 1, "half_life_days": 0}));
    assert_eq!(both.iter().map(|(pointer, _)| pointer.as_str()).collect::<Vec<_>>(), ["/decay", "/half_life_days"]);
}

#[test]
fn a_pair_that_does_not_fit_is_the_fault_of_the_key_that_changed() {
    let pointer = |stored, patch| faults(stored, patch).into_iter().map(|(p, _)| p).collect::<Vec<_>>();
    assert_eq!(pointer(json!({"decay_unit_days": 14}), json!({"lookback_days": 7})), ["/lookback_days"]);
    let wide = json!({"decay_unit_days": 60, "lookback_days": 90});
    assert_eq!(pointer(wide, json!({"lookback_days": null})), ["/lookback_days"]);
    assert_eq!(pointer(json!({"lookback_days": 7}), json!({"decay_unit_days": 14})), ["/decay_unit_days"]);
    assert!(pointer(json!({"lookback_days": 7}), json!({"decay_unit_days": 7})).is_empty());
}

#[test]
fn which_options_change_factors() {
    let changed =
        |patch| FairShareOptions::default().changes_factors(&FairShareOptions::parse(&map(patch)).expect("legal"));
    for patch in [
        json!({"half_life_days": 8}),
        json!({"lookback_days": 29}),
        json!({"decay": "continuous"}),
        json!({"resource_weights": {"cpu": 1}}),
        json!({"default_weight": "2"}),
        json!({"decay_unit_days": 2}),
    ] {
        assert!(changed(patch.clone()), "{patch}");
    }
    for patch in [
        json!({}),
        json!({"half_life_days": 7, "default_weight": "1.0000"}),
        json!({"slice_interval_seconds": 60}),
        json!({"gap_policy": "ignore"}),
        json!({"max_gap_hours": 1}),
    ] {
        assert!(!changed(patch.clone()), "{patch}");
    }
}

/// Any value for a key, mostly of the right kind.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0u32..40).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9]{1,3}(\\.[0-9]{1,5})?".prop_map(Value::from),
        prop_oneof![Just("flat"), Just("continuous"), Just("ignore"), Just("interpolate"), Just("")]
            .prop_map(Value::from),
        Just(Value::Null),
        Just(json!({"cpu": "1"})),
        Just(json!({"cpu": null, "mem": 2})),
        Just(json!({})),
        Just(json!([[]])),
    ]
}

fn patch() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![
        prop_oneof![Just("half_life_days"), Just("lookback_days"), Just("decay_unit_days"), Just("decay")],
        prop_oneof![Just("default_weight"), Just("gap_policy"), Just("max_gap_hours"), Just("resource_weights")],
    ];
    proptest::collection::vec((key, value()), 0..4)
        .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_patch_is_taken_whole_or_not_at_all(patches in proptest::collection::vec(patch(), 1..6)) {
        let mut stored = Map::new();
        for patch in patches {
            match merge_patch(&stored, &patch) {
                Ok(merged) => {
                    let options = FairShareOptions::parse(&merged).expect("what was merged is legal");
                    prop_assert!(merged.values().all(|v| !v.is_null()));
                    prop_assert_eq!(FairShareOptions::parse(&options.to_json()).expect("what is shown is legal"), options);
                    prop_assert_eq!(merge_patch(&merged, &patch), Ok(merged.clone()));
                    stored = merged;
                }
                Err(errors) => {
                    for error in errors {
                        let key = error.pointer[1..].split('/').next().expect("a key");
                        prop_assert!(patch.contains_key(key), "{error:?} is about {patch:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_division_names_its_faults() {
    let table = [
        (json!({"algorithm": "best"}), "/division/algorithm", "unknown_algorithm"),
        (json!({"algorithm": 3}), "/division/algorithm", "unknown_algorithm"),
        (json!("drf"), "/division", "invalid_value"),
        (json!({"kind": "drf"}), "/division/kind", "unknown_option"),
        (json!({"options": []}), "/division/options", "invalid_value"),
        (json!({"options": {"x": 1}}), "/division/options/x", "unknown_option"),
        (json!({"options": {"rounding": "up"}}), "/division/options/rounding", "invalid_value"),
        (json!({"options": {"history_gain": "-1"}}), "/division/options/history_gain", "invalid_value"),
        (json!({"options": {"history_gain": "1000001"}}), "/division/options/history_gain", "out_of_range"),
        (
            json!({"options": {"score_weights": {"drf": "1000001"}}}),
            "/division/options/score_weights/drf",
            "out_of_range",
        ),
        (json!({"options": {"strategies": ["theft"]}}), "/division/options/strategies/0", "invalid_value"),
        (json!({"options": {"tiers": [["gang"], ["magic"]]}}), "/division/options/tiers/1/0", "unknown_plugin"),
        (json!({"options": {"search_budget_ms": 60_001}}), "/division/options/search_budget_ms", "out_of_range"),
        (
            json!({"options": {"reclaimer_utilization_multiplier": "1000001"}}),
            "/division/options/reclaimer_utilization_multiplier",
            "out_of_range",
        ),
    ];
    for (division, pointer, code) in table {
        assert_eq!(faults(json!({}), json!({"division": division})), [(pointer.to_owned(), code)], "{division}");
    }
    assert_eq!(faults(json!({}), json!({"order": "up"})), [("/order".to_owned(), "invalid_value")]);
}

#[test]
fn a_division_is_read_back_as_it_is_shown() {
    let stored = map(json!({
        "order": "tiered",
        "division": {"algorithm": "min_share", "options": {
            "rounding": "whole", "whole_slots": ["cuda.device"], "rule": "on_top", "history_gain": "0.5", "policy": "plugins",
            "strategies": ["quota"], "node_order": "spread", "search_budget_ms": 50,
        }},
    }));
    let options = FairShareOptions::parse(&stored).expect("legal");
    assert_eq!(options.division.algorithm().name(), "min_share");
    assert_eq!(options.order.as_str(), "tiered");
    let shown = options.to_json();
    assert_eq!(shown["division"]["options"]["whole_slots"], json!(["cuda.device"]));
    assert_eq!(shown["division"]["options"]["strategies"], json!(["quota"]));
    assert_eq!(FairShareOptions::parse(&shown), Ok(options));
    // A patch merges at every depth; lists are replaced.
    let patch = json!({"division": {"algorithm": "drf", "options": {
        "rule": null, "whole_slots": ["gpu"], "score_weights": {"drf": "3"},
    }}});
    let merged = merge_patch(&stored, &map(patch)).expect("legal");
    let mut expected = stored["division"].clone();
    expected["algorithm"] = json!("drf");
    let options = expected["options"].as_object_mut().expect("options");
    options.remove("rule");
    options.insert("whole_slots".to_owned(), json!(["gpu"]));
    options.insert("score_weights".to_owned(), json!({"drf": "3"}));
    assert_eq!(merged["division"], expected);
    let more = json!({"division": {"options": {"score_weights": {"priority": 2, "drf": null}}}});
    let merged = merge_patch(&merged, &map(more)).expect("legal");
    assert_eq!(merged["division"]["options"]["score_weights"], json!({"priority": 2}));
    assert_eq!(merge_patch(&merged, &map(json!({"division": {}}))), Ok(merged));
}

#[test]
fn a_time_out_of_kernels_is_off_unless_set() {
    let parse = |value: Value| {
        FairShareOptions::parse(serde_json::json!({"kernel_timeout_seconds": value}).as_object().unwrap())
    };
    assert_eq!(FairShareOptions::default().kernel_timeout_seconds, None);
    assert!(!FairShareOptions::default().to_json().contains_key("kernel_timeout_seconds"));
    assert_eq!(parse(Value::Null).unwrap().kernel_timeout_seconds, None);
    let set = parse(900.into()).unwrap();
    assert_eq!((set.kernel_timeout_seconds, &set.to_json()["kernel_timeout_seconds"]), (Some(900), &Value::from(900)));
    assert_eq!(FairShareOptions::parse(&set.to_json()).unwrap(), set);
    for wrong in [Value::from(59), Value::from(31_536_001), Value::from(-1), "900".into(), true.into()] {
        assert_eq!(parse(wrong).unwrap_err()[0].code, "out_of_range");
    }
}
