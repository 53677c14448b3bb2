//! Large and lopsided clusters end with a plan or a reason, without recursion on the input's depth.

use std::sync::Arc;

use fairshared::domain::queues::{QueueConfig, QueueSpec};
use fairshared::domain::reclaim::ReclaimVerdict;
use serde_json::json;

use super::support::{Case, pending, workload};

fn queue(name: String, parent: Option<String>) -> QueueSpec {
    QueueConfig { parent, ..QueueConfig::named(name) }.into()
}

/// Two chains 5,000 deep that meet at the root.
#[test]
fn deep_chains() {
    let mut case = Case::new(&json!({
        "capacity": {"gpu": 4}, "queues": [{"name": "root"}],
        "running": (0..4).map(|n| workload(&format!("w{n}"), "b4999", n, &[json!({"gpu": 1})], json!({}))).collect::<Vec<_>>(),
        "pending": pending("a4999", &[json!({"gpu": 1})], json!({})),
    }));
    for side in ["a", "b"] {
        for depth in 0..5000 {
            let parent = if depth == 0 { "root".to_owned() } else { format!("{side}{}", depth - 1) };
            case.queues.push(queue(format!("{side}{depth}"), Some(parent)));
        }
    }
    let plan = case.plan();
    assert_eq!((plan.verdict, plan.victims.len()), (ReclaimVerdict::Reclaim, 1));
    assert_eq!(&*plan.victims[0].level, "b0");
}

/// 20,000 queues under one parent; every one of them has something to lose.
#[test]
fn wide_levels() {
    let mut case = Case::new(&json!({
        "capacity": {"gpu": 20000}, "queues": [{"name": "a"}], "running": [],
        "pending": pending("a", &[json!({"gpu": 40})], json!({})),
    }));
    for n in 0..20_000 {
        case.queues.push(queue(format!("q{n}"), None));
        let one = workload(&format!("w{n}"), &format!("q{n}"), n % 1000, &[json!({"gpu": 1})], json!({}));
        case.running.push(serde_json::from_value(one).unwrap());
    }
    // a deserves 40 when the others get 0.998 each, which they exceed.
    Arc::make_mut(&mut case.queues[0].config).quota = serde_json::from_value(json!({"gpu": 40})).unwrap();
    let plan = case.plan();
    assert_eq!((plan.verdict, plan.victims.len()), (ReclaimVerdict::Reclaim, 40));
}

/// A workload larger than the cluster, and victims by the thousand.
#[test]
fn many_victims() {
    let members = vec![json!({"gpu": 1}); 1000];
    let running: Vec<_> =
        (0..5).map(|n| workload(&format!("w{n}"), "b", n, &members, json!({"gang_min": 1}))).collect();
    let mut case = Case::new(&json!({
        "capacity": {"gpu": 5000}, "queues": [{"name": "a"}, {"name": "b"}], "running": running,
        "shares": {"a": {"gpu": 9000}, "b": {"gpu": 10}},
        "pending": pending("a", &[json!({"gpu": 2000})], json!({})),
    }));
    let plan = case.plan();
    assert_eq!((plan.verdict, plan.victims.len()), (ReclaimVerdict::Reclaim, 2000));
    case.pending = serde_json::from_value(pending("a", &[json!({"gpu": 5001})], json!({}))).unwrap();
    assert_eq!(case.plan().verdict, ReclaimVerdict::Refused);
}

/// More members in a deeper chain than can be subtracted from all of its queues.
#[test]
fn too_deep_for_so_many() {
    let mut case = Case::new(&json!({
        "capacity": {"gpu": 1}, "queues": [{"name": "a"}, {"name": "b0"}],
        "running": [workload("w", "b999", 0, &vec![json!({"gpu": 1}); 25_000], json!({}))],
        "pending": pending("a", &[json!({"gpu": 1})], json!({})), "shares": {"a": {"gpu": 1}},
    }));
    case.queues.extend((1..1000).map(|depth| queue(format!("b{depth}"), Some(format!("b{}", depth - 1)))));
    assert!(case.try_plan().is_ok());
    case.running.push(serde_json::from_value(workload("x", "b999", 0, &[json!({"gpu": 1})], json!({}))).unwrap());
    let faults = case.try_plan().unwrap_err();
    assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/running", "too_many"));
}

/// Roots that together hold more than the type of an amount can represent.
#[test]
fn allocations_beyond_any_number() {
    let mut case = Case::new(&json!({
        "capacity": {"gpu": 1}, "queues": [{"name": "a"}], "running": [], "shares": {"a": {"gpu": 1}},
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    }));
    for n in 0..175_000 {
        let mut root = queue(format!("q{n}"), None);
        root.given.allocated = serde_json::from_value(json!({"gpu": "1000000000000000000000"})).unwrap();
        case.queues.push(root);
    }
    assert_eq!(case.plan().verdict, ReclaimVerdict::Refused);
}
