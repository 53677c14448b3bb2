//! Gangs lose surplus members one by one, then their core or nothing (DIVISION §6.4), and minimum runtimes (DIVISION,
//! appendix B).

use fairshared::domain::reclaim::{ReclaimRule, ReclaimVerdict};
use serde_json::{Value, json};

use super::support::{assert_refused, kernels, merge, pending, plan_of, workload};

fn ones(count: usize) -> Vec<Value> {
    vec![json!({"gpu": 1}); count]
}

/// Queue b (share 0) runs the workloads; `asked` gpus are reclaimed.
#[expect(clippy::needless_pass_by_value, reason = "cases read better")]
fn from_b(capacity: u32, running: Vec<Value>, asked: u32) -> Value {
    json!({
        "capacity": {"gpu": capacity}, "queues": [{"name": "a"}, {"name": "b"}],
        "shares": {"a": {"gpu": asked}, "b": {"gpu": 0}}, "running": running,
        "pending": pending("a", &[json!({"gpu": asked})], json!({})),
    })
}

#[test]
fn surplus_of_all_goes_before_any_core() {
    let running = vec![
        workload("high", "b", 1, &ones(3), json!({"gang_min": 1, "priority": 9})),
        workload("low", "b", 2, &ones(3), json!({"gang_min": 2})),
    ];
    assert_eq!(kernels(&plan_of(&from_b(6, running.clone(), 1))), ["low/2"]);
    assert_eq!(kernels(&plan_of(&from_b(6, running.clone(), 3))), ["low/2", "high/2", "high/1"]);
    // The fourth unit is a core of two, which makes one surplus member of another workload unnecessary.
    assert_eq!(kernels(&plan_of(&from_b(6, running.clone(), 4))), ["low/2", "high/2", "low/0", "low/1"]);
    assert_eq!(kernels(&plan_of(&from_b(6, running, 6))), ["low/2", "high/2", "high/1", "low/0", "low/1", "high/0"]);
}

/// A core of four for one gpu: the whole gang is evicted, because `gang_min` defaults to all members.
#[test]
fn core_is_all_or_nothing() {
    let plan = plan_of(&from_b(4, vec![workload("gang", "b", 1, &ones(4), json!({}))], 1));
    assert_eq!(kernels(&plan), ["gang/0", "gang/1", "gang/2", "gang/3"]);
    assert_eq!(plan.victims.len(), 1);
    assert_eq!(plan.disruption_ratio.to_string(), "4");
}

/// A `gang_min` above the members that run: all of them are the core.
#[test]
fn gang_min_above_members_is_a_core() {
    let plan = plan_of(&from_b(2, vec![workload("gang", "b", 1, &ones(2), json!({"gang_min": 9}))], 1));
    assert_eq!(kernels(&plan), ["gang/0", "gang/1"]);
}

/// A single large gang may leave its queue below its share, because each unit is checked before it is subtracted.
#[test]
fn core_is_checked_before_it_goes() {
    let mut case = from_b(4, vec![workload("gang", "b", 1, &ones(4), json!({}))], 1);
    case["shares"]["b"]["gpu"] = json!(3);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    case["shares"]["b"]["gpu"] = json!(4);
    assert_refused(&plan_of(&case), Some("gang"), ReclaimRule::Strategy);
}

/// At noon, with 3600 s: a workload that started at 11:00:00 may be evicted, and one that started a second later not; an
/// elastic one retains its minimum.
#[test]
fn minimum_runtime_protects() {
    let started = |at: &str| json!({"started_at": format!("2026-01-10T{at}Z")});
    let mut case = from_b(2, vec![workload("w", "b", 1, &ones(2), started("11:00:01"))], 1);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    case["queues"][1]["reclaim_min_runtime"] = json!(3600);
    let plan = plan_of(&case);
    assert_refused(&plan, Some("w"), ReclaimRule::MinRuntime);
    assert_eq!(plan.refusals[1].level.as_deref(), Some("b"));
    assert_eq!(plan.refusals[1].victim_ratio.as_deref(), Some("0.999722222222"));
    merge(&mut case["running"][0], started("11:00:00"));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    merge(&mut case["running"][0], started("11:59:59"));
    case["running"][0]["gang_min"] = json!(1);
    assert_eq!(kernels(&plan_of(&case)), ["w/1"]);
    case["shares"]["a"]["gpu"] = json!(2);
    case["pending"] = pending("a", &[json!({"gpu": 2})], json!({}));
    assert_refused(&plan_of(&case), Some("w"), ReclaimRule::Gang);
    // Unknown or future starts: the first is not protected, the second is.
    case["running"][0]["started_at"] = Value::Null;
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    merge(&mut case["running"][0], started("23:00:00"));
    assert_refused(&plan_of(&case), Some("w"), ReclaimRule::Gang);
}

/// For reclaim the queue just below the common ancestor decides, or else one further up; for preemption the leaf, then
/// upwards.
#[test]
fn minimum_runtime_of_the_right_queue() {
    let case = |above: Value, side: Value, leaf: Value| {
        let mut queues = json!([{"name": "top"}, {"name": "a", "parent": "top"}, {"name": "d", "parent": "top"},
                                {"name": "b", "parent": "d"}]);
        merge(&mut queues[0], above);
        merge(&mut queues[2], side);
        merge(&mut queues[3], leaf);
        json!({
            "capacity": {"gpu": 1}, "queues": queues,
            "shares": {"top": {"gpu": 1}, "a": {"gpu": 1}},
            "running": [workload("w", "b", 1, &ones(1), json!({"started_at": "2026-01-10T11:59:00Z"}))],
            "pending": pending("a", &ones(1), json!({})),
        })
    };
    let (long, short) = (json!({"reclaim_min_runtime": 3600}), json!({"reclaim_min_runtime": 0}));
    let verdict =
        |above: &Value, side: &Value, leaf: &Value| plan_of(&case(above.clone(), side.clone(), leaf.clone())).verdict;
    let none = json!({});
    assert_eq!(verdict(&none, &none, &long), ReclaimVerdict::Reclaim);
    assert_eq!(verdict(&none, &long, &short), ReclaimVerdict::Refused);
    assert_eq!(verdict(&long, &none, &none), ReclaimVerdict::Refused);
    assert_eq!(verdict(&long, &short, &none), ReclaimVerdict::Reclaim);
    let mut inside = case(json!({"preempt_min_runtime": 3600}), json!({}), json!({}));
    inside["pending"] = pending("b", &ones(1), json!({"priority": 1}));
    assert_refused(&plan_of(&inside), Some("w"), ReclaimRule::MinRuntime);
    inside["queues"][3]["preempt_min_runtime"] = json!(30);
    assert_eq!(plan_of(&inside).verdict, ReclaimVerdict::Preempt);
}

/// Victims are sought for the gang of the pending workload; its surplus waits.
#[test]
fn pending_gang_is_planned_for_its_minimum() {
    let mut case = from_b(4, (0..4).map(|n| workload(&format!("w{n}"), "b", n, &ones(1), json!({}))).collect(), 4);
    case["pending"] = pending("a", &ones(4), json!({"gang_min": 2}));
    let plan = plan_of(&case);
    assert_eq!(kernels(&plan), ["w3/0", "w2/0"]);
    assert_eq!(plan.warnings[0].code, "surplus_left_pending");
    case["capacity"]["gpu"] = json!(6);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
    case["capacity"]["gpu"] = json!(8);
    let plan = plan_of(&case);
    assert_eq!(plan.verdict, ReclaimVerdict::Fits);
    assert!(plan.warnings.is_empty());
}

/// The core's only member is on the node that is needed; the other one is enough for the gang.
#[test]
fn surplus_elsewhere_stays_when_it_is_enough() {
    let member = |n: usize, agent: &str| json!({"kernel_id": format!("w/{n}"), "slots": {"gpu": 1}, "agent_id": agent});
    let plan = plan_of(&json!({
        "capacity": {"gpu": 2, "cpu": 1}, "queues": [{"name": "a"}, {"name": "b"}],
        "shares": {"a": {"gpu": 1, "cpu": 1}, "b": {"gpu": 0, "cpu": 0}},
        "agents": [{"agent_id": "n0", "available_slots": {"gpu": 1, "cpu": 1}},
                   {"agent_id": "n1", "available_slots": {"gpu": 1}}],
        "running": [workload("w", "b", 0, &[], json!({"gang_min": 1, "members": [member(0, "n0"), member(1, "n1")]}))],
        "pending": pending("a", &[json!({"gpu": 1, "cpu": 1})], json!({})),
    }));
    assert_eq!(plan.verdict, ReclaimVerdict::Reclaim, "{plan:#?}");
    assert_eq!(kernels(&plan), ["w/0"]);
}

/// Two kernels of a gang of at least one, each with a gpu on either node.
fn over_two_nodes(asked: &[Value]) -> Value {
    let part = |n: usize, agent: &str| json!({"kernel_id": format!("w/{n}"), "slots": {"gpu": 1}, "agent_id": agent});
    let members = json!([part(0, "n0"), part(0, "n1"), part(1, "n0"), part(1, "n1")]);
    json!({
        "capacity": {"gpu": 4}, "queues": [{"name": "a"}, {"name": "b"}], "shares": {"a": {"gpu": 4}, "b": {"gpu": 0}},
        "agents": [{"agent_id": "n0", "available_slots": {"gpu": 2}}, {"agent_id": "n1", "available_slots": {"gpu": 2}}],
        "running": [workload("w", "b", 0, &[], json!({"gang_min": 1, "members": members}))],
        "pending": pending("a", asked, json!({})),
    })
}

/// The parts of a kernel on several agents go together, and count as one member of the gang.
#[test]
fn a_kernel_on_several_agents_goes_as_one() {
    let gpus = |count: u32| json!({"gpu": count});
    let one = plan_of(&over_two_nodes(&[gpus(1)]));
    assert_eq!(kernels(&one), ["w/1"]);
    assert_eq!(one.disruption_ratio.to_string(), "2");
    assert_eq!(kernels(&plan_of(&over_two_nodes(&[gpus(1), gpus(1)]))), ["w/1"], "each node has a gpu more");
    let all = plan_of(&over_two_nodes(&[gpus(2)]));
    assert_eq!(all.verdict, ReclaimVerdict::Reclaim, "{all:#?}");
    assert_eq!((kernels(&all), all.victims.len()), (vec!["w/1", "w/0"], 2), "{all:#?}");
    // Both kernels are the minimum now.
    let mut case = over_two_nodes(&[gpus(1)]);
    case["running"][0]["gang_min"] = json!(2);
    let all = plan_of(&case);
    assert_eq!((kernels(&all), all.victims.len()), (vec!["w/0", "w/1"], 1), "{all:#?}");
    // Inside of its minimum runtime a gang gives its surplus alone.
    let mut case = over_two_nodes(&[gpus(1)]);
    case["queues"][1]["reclaim_min_runtime"] = json!(3600);
    merge(&mut case["running"][0], json!({"started_at": "2026-01-10T11:30:00Z"}));
    assert_eq!(kernels(&plan_of(&case)), ["w/1"]);
    case["pending"] = pending("a", &[gpus(2)], json!({}));
    assert_refused(&plan_of(&case), Some("w"), ReclaimRule::Gang);
    // Plug-ins that do not keep gangs whole take kernels one by one, and no part alone.
    let mut case = over_two_nodes(&[gpus(1)]);
    case["running"][0]["gang_min"] = json!(2);
    case["options"] =
        json!({"policy": "plugins", "tiers": [["priority", "conformance"], ["proportion", "predicates"]]});
    case["running"][0]["priority"] = json!(-1);
    assert_eq!(kernels(&plan_of(&case)), ["w/1"]);
}
