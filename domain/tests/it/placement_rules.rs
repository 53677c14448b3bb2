//! Labels, taints, tolerations and affinity, with the meaning of Kubernetes.

use domain::fault::Fault;
use domain::kernel::{Kernel, KernelPhase};
use domain::placement_rules::{
    LabelRequirement, Labels, PlacementRules, Taint, Toleration, label_faults, taint_faults,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::kernels::report;
use crate::support::clock;

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).expect("a value of the type")
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    read::<Toleration>(toleration).tolerates(&read::<Taint>(taint))
}

#[test]
fn a_toleration_matches_key_value_and_effect() {
    let taint = json!({"key": "gpu", "value": "a100", "effect": "NoSchedule"});
    for toleration in [
        json!({"key": "gpu", "value": "a100"}),
        json!({"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}),
        json!({"key": "gpu", "operator": "Exists"}),
        json!({"operator": "Exists"}),
        json!({"operator": "Exists", "effect": "NoSchedule"}),
    ] {
        assert!(tolerates(&toleration, &taint), "{toleration}");
    }
    for toleration in [
        json!({"key": "gpu"}),
        json!({"key": "gpu", "value": "h100"}),
        json!({"key": "disk", "operator": "Exists"}),
        json!({"key": "gpu", "value": "a100", "effect": "NoExecute"}),
        json!({"value": "a100"}),
    ] {
        assert!(!tolerates(&toleration, &taint), "{toleration}");
    }
    // A value that is absent equals an empty one.
    let bare = json!({"key": "gpu", "effect": "NoExecute"});
    assert!(tolerates(&json!({"key": "gpu"}), &bare) && tolerates(&json!({"key": "gpu", "value": ""}), &bare));
}

#[test]
fn only_taints_that_repel_keep_a_workload_away() {
    let rules: PlacementRules = read(&json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}));
    let taints = |effect: &str| {
        read::<Vec<Taint>>(&json!([
            {"key": "gpu", "effect": "NoSchedule"}, {"key": "old", "effect": effect}
        ]))
    };
    assert!(rules.tolerates(&taints("PreferNoSchedule")));
    assert!(!rules.tolerates(&taints("NoSchedule")) && !rules.tolerates(&taints("NoExecute")));
}

#[test]
fn requirements_compare_labels() {
    let labels: Labels = read(&json!({"gpu": "a100", "memory": "80"}));
    let accepts = |key: &str, operator: &str, values: &[&str]| {
        read::<LabelRequirement>(&json!({"key": key, "operator": operator, "values": values})).accepts(&labels)
    };
    for (key, operator, values) in [
        ("gpu", "In", &["h100", "a100"][..]),
        ("gpu", "NotIn", &["h100"]),
        ("rack", "NotIn", &["r7"]),
        ("gpu", "Exists", &[]),
        ("rack", "DoesNotExist", &[]),
        ("memory", "Gt", &["79"]),
        ("memory", "Lt", &["81"]),
    ] {
        assert!(accepts(key, operator, values), "{key} {operator} {values:?}");
    }
    for (key, operator, values) in [
        ("gpu", "In", &["h100"][..]),
        ("rack", "In", &["r7"]),
        ("gpu", "NotIn", &["a100"]),
        ("rack", "Exists", &[]),
        ("gpu", "DoesNotExist", &[]),
        ("memory", "Gt", &["80"]),
        ("memory", "Lt", &["80"]),
        ("rack", "Lt", &["80"]),
        ("gpu", "Gt", &["1"]),
    ] {
        assert!(!accepts(key, operator, values), "{key} {operator} {values:?}");
    }
}

#[test]
fn faults_name_their_place() {
    let long = "x".repeat(256);
    let places = |faults: Vec<Fault>| -> Vec<(String, &'static str)> {
        faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    };
    let rules: PlacementRules = read(&json!({
        "labels": {"a/b": long, " c": ""},
        "tolerations": [{"operator": "Exists"}, {"key": ""}, {"key": "k", "value": " v"}],
        "affinity": {
            "agents": [
                {"key": "m", "operator": "Gt", "values": ["many"]}, {"key": "m", "operator": "Lt"},
                {"key": "", "operator": "In", "values": ["ok", "\u{200b}"]}
            ],
            "with": [{"labels": {"app": "x"}, "topology_key": ""}], "against": [{"labels": {"": "x"}, "topology_key": "rack"}]
        }
    }));
    let expected = [
        ("/labels/ c", "invalid_name"),
        ("/labels/a~1b", "invalid_value"),
        ("/tolerations/1/key", "invalid_name"),
        ("/tolerations/2/value", "invalid_value"),
        ("/affinity/agents/0/values", "invalid_value"),
        ("/affinity/agents/1/values", "invalid_value"),
        ("/affinity/agents/2/key", "invalid_name"),
        ("/affinity/agents/2/values/1", "invalid_value"),
        ("/affinity/with/0/topology_key", "invalid_name"),
        ("/affinity/against/0/labels/", "invalid_name"),
    ];
    assert_eq!(places(rules.faults()), expected.map(|(place, code)| (place.to_owned(), code)));
    let many: Labels = (0..65).map(|at| (format!("l{at}"), String::new())).collect();
    assert_eq!(places(label_faults(&many)), [("/labels".to_owned(), "too_many")]);
    let taints: Vec<Taint> = vec![read(&json!({"key": "k", "effect": "NoSchedule"})); 65];
    assert_eq!(places(taint_faults(&taints)), [("/taints".to_owned(), "too_many")]);
    // Each part is allowed, and all of them are more than is stored.
    let values = vec!["v".repeat(255); 70];
    let large = json!({"affinity": {"agents": [{"key": "k", "operator": "In", "values": values}]}});
    assert_eq!(places(read::<PlacementRules>(&large).faults()), [("/affinity".to_owned(), "too_long")]);
}

#[test]
fn a_later_report_need_not_repeat_the_submission_and_the_rules() {
    let rules = |value: Value| read::<PlacementRules>(&value).boxed();
    let mut waits = report(KernelPhase::Pending, None, None);
    waits.submitted_at = Some(clock("09:00"));
    waits.rules = rules(json!({"labels": {"app": "x"}, "tolerations": [{"operator": "Exists"}]}));
    let mut runs = report(KernelPhase::Running, Some(clock("10:00")), None);
    let kernel = Kernel::merge(None, waits.clone()).expect("a kernel");
    let started = Kernel::merge(Some(kernel.clone()), runs.clone()).expect("a kernel").report;
    assert_eq!((started.submitted_at, &started.rules), (waits.submitted_at, &waits.rules));
    // Parts that it states replace those that are known.
    runs.submitted_at = Some(clock("09:30"));
    runs.rules = rules(json!({"labels": {"app": "y"}}));
    let started = Kernel::merge(Some(kernel), runs.clone()).expect("a kernel");
    let both = rules(json!({"labels": {"app": "y"}, "tolerations": [{"operator": "Exists"}]}));
    assert_eq!((started.report.submitted_at, &started.report.rules), (runs.submitted_at, &both));
    // A late report of an earlier phase fills what is missing, and changes nothing else.
    let again = Kernel::merge(Some(started.clone()), waits).expect("a kernel");
    assert_eq!(again.report, started.report);
}
