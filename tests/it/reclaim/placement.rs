//! Victims free room where the workload can run (DIVISION §6.6).

use fairshared::domain::reclaim::{ReclaimPlan, ReclaimRule, ReclaimVerdict};
use serde_json::{Value, json};

use super::support::{assert_refused, kernels, merge, pending, plan_of, workload};

/// Nodes of 4 gpus; each entry of `on` is a one-gpu workload of queue b on that node, the last the newest.
fn nodes(names: &[&str], on: &[&str]) -> Value {
    let agents: Vec<Value> =
        names.iter().map(|name| json!({"agent_id": name, "available_slots": {"gpu": 4}})).collect();
    let running: Vec<Value> = on
        .iter()
        .enumerate()
        .map(|(n, node)| {
            let mut one = workload(&format!("w{n:02}"), "b", n, &[json!({"gpu": 1})], json!({}));
            one["members"][0]["agent_id"] = json!(node);
            one
        })
        .collect();
    json!({
        "capacity": {"gpu": 4 * names.len()}, "queues": [{"name": "a"}, {"name": "b"}],
        "shares": {"a": {"gpu": 100}, "b": {"gpu": 0}}, "agents": agents, "running": running,
    })
}

fn asked(mut case: Value, slots: &[Value]) -> Value {
    case["pending"] = pending("a", slots, json!({}));
    case
}

fn gpus(count: u32) -> Value {
    json!({"gpu": count})
}

fn placed(plan: &ReclaimPlan) -> Vec<&str> {
    plan.placement.iter().flatten().map(|p| &*p.agent_id).collect()
}

#[test]
fn pack_and_spread() {
    let mut case = asked(nodes(&["n1", "n2", "n3"], &["n2", "n3", "n3"]), &[gpus(1), gpus(1), gpus(1)]);
    assert_eq!(placed(&plan_of(&case)), ["n3", "n3", "n2"]);
    case["options"] = json!({"node_order": "spread"});
    assert_eq!(placed(&plan_of(&case)), ["n1", "n1", "n2"]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
}

/// Free gpus on several nodes are no room for one member, so victims are on one node only.
#[test]
fn victims_on_one_node() {
    let on = ["n1", "n1", "n1", "n2", "n2", "n2", "n1", "n2"];
    let case = asked(nodes(&["n1", "n2", "n3"], &on), &[gpus(3), gpus(4)]);
    let plan = plan_of(&case);
    // The node n3 is free for the larger member; of n1 and n2 the one with the newest three in the order.
    assert_eq!(plan.verdict, ReclaimVerdict::Reclaim);
    assert_eq!(placed(&plan), ["n2", "n3"]);
    assert_eq!(kernels(&plan), ["w07/0", "w05/0", "w04/0"]);
}

#[test]
fn members_use_several_nodes() {
    let on = ["n1", "n1", "n1", "n1", "n2", "n2", "n2", "n2"];
    let plan = plan_of(&asked(nodes(&["n1", "n2"], &on), &[gpus(2), gpus(2), gpus(2)]));
    assert_eq!(plan.victims.len(), 6);
    let mut at = placed(&plan);
    at.sort_unstable();
    assert_eq!(at, ["n1", "n2", "n2"]);
}

/// The eviction of a gang's core on two nodes frees both.
#[test]
fn a_core_frees_several_nodes() {
    let mut case = nodes(&["n1", "n2"], &[]);
    let mut gang = workload("gang", "b", 0, &[gpus(4), gpus(4)], json!({}));
    gang["members"][0]["agent_id"] = json!("n1");
    gang["members"][1]["agent_id"] = json!("n2");
    case["running"] = json!([gang]);
    let plan = plan_of(&asked(case.clone(), &[gpus(4)]));
    assert_eq!(kernels(&plan), ["gang/0", "gang/1"]);
    assert_eq!(placed(&plan), ["n1"]);
    case["running"][0]["gang_min"] = json!(1);
    let plan = plan_of(&asked(case, &[gpus(4)]));
    assert_eq!((kernels(&plan), placed(&plan)), (vec!["gang/1"], vec!["n2"]));
}

#[test]
fn labels_and_schedulable() {
    let mut case = asked(nodes(&["n1", "n2", "n3"], &["n2"]), &[gpus(4)]);
    merge(&mut case["agents"][0], json!({"schedulable": false, "labels": {"rack": "r1"}}));
    merge(&mut case["agents"][1], json!({"labels": {"rack": "r1"}}));
    case["pending"]["members"][0]["labels"] = json!({"rack": "r1"});
    let plan = plan_of(&case);
    assert_eq!((kernels(&plan), placed(&plan)), (vec!["w00/0"], vec!["n2"]));
    case["pending"]["members"][0]["labels"] = json!({"rack": "r9"});
    let plan = plan_of(&case);
    assert_refused(&plan, None, ReclaimRule::Placement);
    assert_eq!(plan.refusals[0].reclaimer_ratio.as_deref(), Some("inf"));
}

/// Larger than any node: more than one offers even without any other workload.
#[test]
fn too_large_for_any_node() {
    let plan = plan_of(&asked(nodes(&["n1", "n2"], &["n1", "n2"]), &[gpus(5)]));
    assert_refused(&plan, Some("w00"), ReclaimRule::Placement);
    assert_refused(&plan, None, ReclaimRule::Placement);
    assert_eq!(plan.refusals[0].reclaimer_ratio.as_deref(), Some("1.25"));
}

/// A member on an unknown node frees nothing; a node that holds more than it has must free more.
#[test]
fn unknown_and_overcommitted_nodes() {
    let case = asked(nodes(&["n1"], &["n1", "n1", "n9", "n1", "n1", "n1"]), &[gpus(1)]);
    let plan = plan_of(&case);
    assert_eq!(kernels(&plan), ["w05/0", "w04/0"]);
    assert_eq!(plan.warnings[0].code, "unknown_agent");
}

/// Rank decides before place: the newest victim decides which of two equal nodes is freed.
#[test]
fn the_first_to_lose_decides() {
    let case = asked(nodes(&["n1", "n2"], &["n1", "n1", "n1", "n1", "n2", "n2", "n2", "n2"]), &[gpus(1)]);
    let plan = plan_of(&case);
    assert_eq!((kernels(&plan), placed(&plan)), (vec!["w07/0"], vec!["n2"]));
}

/// The share of b is not spent in vain: two workloads of b are evicted, although a third one on the other node came before
/// them.
#[test]
fn shares_are_not_spent_on_other_nodes() {
    let mut case = asked(nodes(&["n1", "n2"], &["n2", "n2", "n1", "n1", "n1"]), &[gpus(4)]);
    case["running"][2]["preemptible"] = json!(false);
    case["shares"]["b"]["gpu"] = json!(3);
    let plan = plan_of(&case);
    assert_eq!((kernels(&plan), placed(&plan)), (vec!["w01/0", "w00/0"], vec!["n2"]));
}

#[test]
fn no_agents_at_all() {
    let mut case = asked(nodes(&[], &[]), &[gpus(1)]);
    case["capacity"]["gpu"] = json!(10);
    assert_refused(&plan_of(&case), None, ReclaimRule::NoCandidate);
    case["agents"] = Value::Null;
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
}
