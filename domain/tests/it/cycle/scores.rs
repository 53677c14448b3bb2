//! Each node score: which agent gets a member.

use serde_json::{Value, json};

use super::support::{agents, cycle, group, job, runs, starts};

fn chosen(node_order: Value, document: Value) -> Vec<String> {
    let mut document = group(document);
    document["cycle"]["node_order"] = node_order;
    starts(&cycle(&document)).iter().map(|start| start.rsplit(' ').next().unwrap().to_owned()).collect()
}

fn two_of_three() -> Value {
    json!({"capacity": {"gpu": 12}, "agents": agents(&[4, 4, 4]), "running": [runs("r1", "a", 2, "n2"), runs("r2", "b", 1, "n3")],
        "pending": job("w", "a", 1)})
}

#[test]
fn most_requested_packs_and_least_requested_spreads() {
    assert_eq!(chosen(json!({"most_requested": 1}), two_of_three()), ["n2"]);
    assert_eq!(chosen(json!({"least_requested": "1"}), two_of_three()), ["n1"]);
    assert_eq!(chosen(json!({}), two_of_three()), ["n1"], "the smaller id decides between equal scores");
}

#[test]
fn the_usual_scores_pack_or_spread_as_plans_do() {
    let mut document = group(two_of_three());
    assert_eq!(starts(&cycle(&document)), ["w allocate n2"]);
    document["options"] = json!({"node_order": "spread"});
    assert_eq!(starts(&cycle(&document)), ["w allocate n1"]);
}

#[test]
fn balanced_keeps_slots_equally_full() {
    let agent = |id: &str| json!({"agent_id": id, "available_slots": {"gpu": 4, "cpu": 4}});
    let running = json!([{"workload_id": "r", "queue": "a", "members": [
        {"kernel_id": "k", "slots": {"cpu": 2}, "agent_id": "n2"}]}]);
    let document = json!({"capacity": {"gpu": 8, "cpu": 8}, "agents": [agent("n1"), agent("n2")], "running": running,
        "pending": job("w", "a", 2)});
    assert_eq!(chosen(json!({"balanced": 1}), document), ["n2"]);
}

#[test]
fn an_untolerated_preference_counts_more_than_packing() {
    let taint = json!([{"key": "old", "effect": "PreferNoSchedule"}]);
    let agents = json!([
        {"agent_id": "n1", "available_slots": {"gpu": 2}, "taints": taint}, {"agent_id": "n2", "available_slots": {"gpu": 4}}
    ]);
    let mut document = json!({"capacity": {"gpu": 6}, "agents": agents, "running": [runs("r", "b", 1, "n1")],
        "pending": job("w", "a", 1)});
    assert_eq!(starts(&cycle(&group(document.clone()))), ["w allocate n2"]);
    document["pending"]["tolerations"] = json!([{"key": "old", "operator": "Exists"}]);
    assert_eq!(starts(&cycle(&group(document))), ["w allocate n1"]);
}

#[test]
fn same_domain_keeps_a_gang_together() {
    let agent = |id: &str, rack: &str, gpu: u64| json!({"agent_id": id, "labels": {"rack": rack}, "available_slots": {"gpu": gpu}});
    let agents = json!([agent("n1", "x", 3), agent("n2", "y", 2), agent("n3", "y", 2)]);
    let gang = json!({"workload_id": "w", "queue": "a", "members": [{"slots": {"gpu": 1}, "count": 4}]});
    let document = json!({"capacity": {"gpu": 7}, "agents": agents, "pending": gang});
    let by_rack = json!({"same_domain": {"weight": 1, "topology_key": "rack"}});
    assert_eq!(chosen(by_rack, document.clone()), ["n2,n2,n3,n3"]);
    assert_eq!(chosen(json!({"same_domain": 1}), document), ["n1,n1,n1,n2"], "the domain is the agent");
}

#[test]
fn thirds_add_up_to_a_whole() {
    // n1 has 1/3 + 2/3 used with the member, n2 1/2 + 1/2: both are 1/2 on average, so the smaller id decides.
    let agents = json!([
        {"agent_id": "n1", "available_slots": {"gpu": 3, "cpu": 3}}, {"agent_id": "n2", "available_slots": {"gpu": 2, "cpu": 2}}
    ]);
    let running = json!([{"workload_id": "r", "queue": "a", "members": [
        {"kernel_id": "k", "slots": {"cpu": 1}, "agent_id": "n1"}]}]);
    let member = json!({"slots": {"gpu": 1, "cpu": 1}});
    let document = json!({"capacity": {"gpu": 5, "cpu": 5}, "agents": agents, "running": running,
        "pending": {"workload_id": "w", "queue": "a", "members": [member]}});
    assert_eq!(chosen(json!({"most_requested": 1}), document), ["n1"]);
}
