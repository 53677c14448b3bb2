//! Agents for several members: task order, skipped members, and the second and third try.

use serde_json::{Value, json};

use super::support::{agents, cycle, gang, group, merged, reason, runs, starts};

fn place(sizes: &[u64], workload: Value) -> Vec<String> {
    let capacity: u64 = sizes.iter().sum();
    let workload = merged(json!({"workload_id": "w", "queue": "a"}), workload);
    let document = json!({"capacity": {"gpu": capacity}, "agents": agents(sizes), "pending": workload,
        "queues": [{"name": "a"}], "cycle": {"actions": ["allocate"]}});
    starts(&cycle(&group(document)))
}

fn member(gpu: u64, more: Value) -> Value {
    merged(json!({"slots": {"gpu": gpu}}), more)
}

#[test]
fn members_go_by_priority_and_are_numbered_as_listed() {
    let members = json!([member(1, json!({"count": 2})), member(2, json!({"priority": 5}))]);
    let document = json!({"capacity": {"gpu": 4}, "agents": agents(&[2, 2]),
        "pending": {"workload_id": "w", "queue": "a", "members": members}});
    let answer = cycle(&group(document));
    let expected =
        json!([{"member": 0, "agent_id": "n2"}, {"member": 1, "agent_id": "n2"}, {"member": 2, "agent_id": "n1"}]);
    assert_eq!(answer["starts"][0]["members"], expected);
}

#[test]
fn a_member_that_fits_nowhere_is_skipped() {
    let members = json!([member(1, json!({})), member(3, json!({})), member(1, json!({}))]);
    let document = json!({"capacity": {"gpu": 5}, "agents": agents(&[2, 3]), "running": [runs("r", "b", 1, "n2")],
        "pending": {"workload_id": "w", "queue": "a", "gang_min": 2, "members": members}, "cycle": {"actions": ["allocate"]}});
    let answer = cycle(&group(document));
    assert_eq!(
        answer["starts"][0]["members"].as_array().unwrap().iter().map(|m| &m["member"]).collect::<Vec<_>>(),
        [0, 2]
    );
    assert_eq!(reason(&answer, "w").0, "no_room", "the surplus waits");
}

#[test]
fn a_second_try_goes_by_size() {
    // In task order the small member goes to n2, where it leaves too little for the second large one.
    let members = json!([member(1, json!({})), member(2, json!({})), member(2, json!({}))]);
    assert_eq!(place(&[3, 2], json!({"members": members})), ["w allocate n1,n2,n1"]);
}

#[test]
fn a_gang_that_wants_to_be_together_is_tried_from_each_agent() {
    let zone = |id: &str, zone: &str, gpu: u64| json!({"agent_id": id, "labels": {"zone": zone}, "available_slots": {"gpu": gpu}});
    let agents = json!([zone("n1", "x", 1), zone("n2", "y", 2), zone("n3", "y", 2)]);
    let workload = json!({"workload_id": "w", "queue": "a", "labels": {"app": "w"}, "members": [{"slots": {"gpu": 1}, "count": 3}],
        "affinity": {"with": [{"labels": {"app": "w"}, "topology_key": "zone"}]}});
    let document =
        json!({"capacity": {"gpu": 5}, "agents": agents, "pending": workload, "cycle": {"actions": ["allocate"]}});
    assert_eq!(starts(&cycle(&group(document))), ["w allocate n2,n2,n3"]);
}

#[test]
fn the_order_of_agents_in_the_request_means_nothing() {
    let mut reversed = agents(&[4, 4, 4]);
    reversed.as_array_mut().unwrap().reverse();
    let document =
        json!({"capacity": {"gpu": 12}, "agents": reversed, "pending": gang("w", "a", 5), "queues": [{"name": "a"}]});
    assert_eq!(starts(&cycle(&group(document))), ["w allocate n1,n1,n1,n1,n2"]);
}

#[test]
fn without_agents_only_totals_count() {
    let members = json!([{"slots": {"gpu": 3}, "labels": {"zone": "x"}}]);
    let document = json!({"running": [runs("r", "b", 1, "n9")], "pending": {"workload_id": "w", "queue": "a", "members": members}});
    assert_eq!(starts(&cycle(&group(document))), ["w allocate -"]);
}

#[test]
fn a_member_on_an_unknown_agent_holds_no_room() {
    let document =
        json!({"agents": agents(&[4]), "running": [runs("r", "b", 2, "gone")], "pending": gang("w", "a", 4)});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["w allocate n1,n1,n1,n1"]);
    assert!(super::support::warnings(&answer).contains(&"unknown_agent"));
}

#[test]
fn an_agent_that_holds_more_than_it_has_takes_nothing() {
    let document =
        json!({"agents": agents(&[2, 2]), "running": [runs("r", "b", 3, "n1")], "pending": gang("w", "a", 2)});
    assert_eq!(starts(&cycle(&group(document))), ["w allocate n2,n2"]);
}
