//! `policy: plugins`: kube-batch's plug-ins in tiers (DIVISION §6.7, appendix C).

use fairshared::domain::reclaim::plugins::{plugin, plugin_names};
use fairshared::domain::reclaim::{PlanOptions, ReclaimRule, ReclaimVerdict};
use serde_json::{Value, json};

use super::support::{assert_refused, kernels, merge, pending, plan_of, singles, victims, workload};

fn case(tiers: &Value) -> Value {
    json!({
        "capacity": {"gpu": 8}, "options": {"policy": "plugins", "tiers": tiers},
        "queues": [{"name": "a"}, {"name": "b"}], "shares": {"a": {"gpu": 4}, "b": {"gpu": 6}},
        "running": singles("b", 8), "pending": pending("a", &[json!({"gpu": 2})], json!({})),
    })
}

#[test]
fn the_seven_plugins() {
    let names: Vec<&str> = plugin_names().collect();
    assert_eq!(names, ["priority", "drf", "proportion", "gang", "conformance", "node_order", "predicates"]);
    assert!(plugin("magic").is_none());
    let tiers = PlanOptions::default().tiers;
    assert_eq!(tiers, [vec!["priority", "gang", "conformance"], vec!["drf", "proportion", "predicates", "node_order"]]);
}

/// A queue keeps what it deserves: allocated - victims >= deserved.
#[test]
fn proportion_keeps_what_is_deserved() {
    let mut case = case(&json!([["proportion"]]));
    assert_eq!(victims(&plan_of(&case)), [("b-7", "proportion"), ("b-6", "proportion")]);
    case["pending"] = pending("a", &[json!({"gpu": 3})], json!({}));
    let plan = plan_of(&case);
    assert_refused(&plan, Some("b-0"), ReclaimRule::Strategy);
    assert_refused(&plan, None, ReclaimRule::Placement);
}

/// The first tier with an answer decides: after gang, proportion is not evaluated.
#[test]
fn first_tier_decides() {
    let mut case = case(&json!([["priority", "gang"], ["proportion"]]));
    case["pending"] = pending("a", &[json!({"gpu": 3})], json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    case["options"]["tiers"] = json!([["priority", "drf"], ["proportion"], ["gang"]]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
}

#[test]
fn tiers_without_an_answer_allow_nobody() {
    assert_refused(&plan_of(&case(&json!([["priority", "drf"], ["node_order"]]))), Some("b-0"), ReclaimRule::Strategy);
    assert_refused(&plan_of(&case(&json!([]))), Some("b-0"), ReclaimRule::Strategy);
}

/// The answers of a tier are intersected.
#[test]
fn answers_are_intersected() {
    let mut case = case(&json!([["gang", "proportion"]]));
    assert_eq!(victims(&plan_of(&case))[0], ("b-7", "gang+proportion"));
    case["pending"] = pending("a", &[json!({"gpu": 3})], json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
}

/// Members may be evicted while more than `gang_min` run, counted cumulatively.
#[test]
fn gang_counts_cumulatively() {
    let mut case = case(&json!([["gang"]]));
    let four = vec![json!({"gpu": 2}); 4];
    case["running"] = json!([workload("gang", "b", 0, &four, json!({"gang_min": 3}))]);
    assert_eq!(kernels(&plan_of(&case)), ["gang/3"]);
    case["pending"] = pending("a", &[json!({"gpu": 3})], json!({}));
    assert_refused(&plan_of(&case), None, ReclaimRule::Placement);
    case["running"][0]["gang_min"] = json!(4);
    let plan = plan_of(&case);
    assert_refused(&plan, Some("gang"), ReclaimRule::Gang);
    assert_eq!(plan.refusals[1].victim_ratio.as_deref(), Some("1"));
    case["running"][0]["gang_min"] = json!(1);
    assert_eq!(kernels(&plan_of(&case)), ["gang/3", "gang/2"]);
}

#[test]
fn conformance_keeps_the_critical() {
    let mut case = case(&json!([["conformance"]]));
    case["running"][7]["critical"] = json!(true);
    assert_eq!(victims(&plan_of(&case)), [("b-6", "conformance"), ("b-5", "conformance")]);
}

/// A queue that has all it deserves is overused and reclaims nothing.
#[test]
fn overused_queues_reclaim_nothing() {
    let mut case = case(&json!([["conformance", "proportion"]]));
    case["running"] = json!([singles("a", 1), singles("b", 7)].concat());
    case["shares"]["a"]["gpu"] = json!(1);
    let plan = plan_of(&case);
    assert_refused(&plan, None, ReclaimRule::GateFairShare);
    assert_eq!(plan.refusals[0].reclaimer_ratio.as_deref(), Some("1"));
    case["options"]["tiers"] = json!([["conformance"]]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
}

/// The queue that is served last loses first: by queue priority, by dominant share, by allocated / deserved.
#[test]
fn queue_orders() {
    let base = |tiers: Value| {
        let mut case = case(&tiers);
        case["queues"] = json!([{"name": "a"}, {"name": "b", "priority": 1}, {"name": "c"}]);
        case["running"] = json!([singles("b", 5), singles("c", 3)].concat());
        merge(&mut case["shares"], json!({"b": {"gpu": 5}, "c": {"gpu": 2}}));
        case["pending"] = pending("a", &[json!({"gpu": 1})], json!({}));
        case
    };
    let first = |tiers: Value| victims(&plan_of(&base(tiers)))[0].0.to_owned();
    assert_eq!(first(json!([["conformance"], ["priority"]])), "c-2");
    assert_eq!(first(json!([["conformance", "drf"]])), "b-4");
    assert_eq!(first(json!([["conformance"], ["proportion"]])), "c-2");
}

/// Workloads: lower priority, then the larger dominant share, then those that are ready.
#[test]
fn job_orders() {
    let base = |tiers: Value, first: Value, second: Value| {
        let mut case = case(&tiers);
        let one = [json!({"gpu": 1})];
        case["running"] = json!([workload("x", "b", 0, &one, first), workload("y", "b", 1, &one, second)]);
        case["capacity"]["gpu"] = json!(2);
        case["pending"] = pending("a", &one, json!({}));
        victims(&plan_of(&case))[0].0.to_owned()
    };
    let (none, low) = (json!({}), json!({"priority": -1}));
    assert_eq!(base(json!([["conformance"]]), none.clone(), none.clone()), "y");
    assert_eq!(base(json!([["conformance", "priority"]]), low.clone(), none.clone()), "x");
    assert_eq!(base(json!([["conformance"]]), low, none), "y");
}

/// Labels count only where a tier names predicates.
#[test]
fn predicates_are_a_plugin() {
    let mut case = case(&json!([["conformance", "predicates"]]));
    case["agents"] = json!([{"agent_id": "n1", "available_slots": {"gpu": 8}, "schedulable": false}]);
    for workload in case["running"].as_array_mut().unwrap() {
        workload["members"][0]["agent_id"] = json!("n1");
    }
    assert_refused(&plan_of(&case), None, ReclaimRule::Placement);
    case["options"]["tiers"] = json!([["conformance"]]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
}
