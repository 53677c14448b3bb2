//! Members above the minimum, arrays by `count`, and `parallel_limit`.

use serde_json::json;

use super::support::{agents, cycle, gang, group, job, reason, runs, starts, waits, with};

#[test]
fn members_above_the_minimum_follow_one_at_a_time() {
    let elastic = |id: &str| with(gang(id, "a", 4), json!({"gang_min": 1}));
    let document = json!({"capacity": {"gpu": 5}, "queues": [{"name": "a"}], "pending": [elastic("x"), elastic("y")]});
    let answer = cycle(&group(document));
    let order: Vec<&str> =
        answer["starts"].as_array().unwrap().iter().map(|s| s["workload_id"].as_str().unwrap()).collect();
    assert_eq!(order, ["x", "y", "x", "y", "x"], "all minimums first, then in rounds");
    assert_eq!(answer["starts"][4]["members"][0]["member"], 2);
    assert_eq!(waits(&answer, "y")["members"], 2);
    assert_eq!(waits(&answer, "y")["started"], true);
}

#[test]
fn under_queues_each_member_is_a_turn() {
    let queues = json!([{"name": "a", "weight": 1}, {"name": "b", "weight": 1}]);
    let elastic = |id: &str, queue: &str| with(gang(id, queue, 4), json!({"gang_min": 1}));
    let document = json!({"capacity": {"gpu": 6}, "queues": queues, "running": [runs("r", "a", 2, "n1")],
        "pending": [elastic("x", "a"), elastic("y", "b")], "cycle": {"order": "queues"}});
    let answer = cycle(&group(document));
    let order: Vec<&str> =
        answer["starts"].as_array().unwrap().iter().map(|s| s["workload_id"].as_str().unwrap()).collect();
    assert_eq!(order, ["y", "x", "y", "y"], "b holds less");
}

#[test]
fn an_array_starts_as_many_tasks_as_fit() {
    let array = with(gang("w", "a", 1000), json!({"gang_min": 0}));
    let answer = cycle(&group(json!({"agents": agents(&[3, 1]), "pending": array})));
    let members: Vec<u64> =
        answer["starts"].as_array().unwrap().iter().map(|s| s["members"][0]["member"].as_u64().unwrap()).collect();
    assert_eq!(members, [0, 1, 2, 3]);
    assert_eq!(waits(&answer, "w")["members"], 996);
    assert_eq!(
        reason(&answer, "w"),
        ("no_room".to_owned(), json!({"slot": "gpu", "asked": "1", "most_free": "0", "free": "0"}))
    );
}

#[test]
fn a_parallel_limit_counts_running_members() {
    let running = json!([{"workload_id": "w", "queue": "a", "gang_min": 1, "members": [{"kernel_id": "k", "slots": {"gpu": 1}}]}]);
    let array = with(gang("w", "a", 10), json!({"gang_min": 1, "parallel_limit": 3}));
    let answer = cycle(&group(json!({"running": running, "pending": array})));
    assert_eq!(starts(&answer).len(), 2);
    assert!(answer["waiting"].as_array().unwrap().is_empty(), "what the workload itself holds back does not wait");
    assert_eq!(answer["before"][0]["fair_share"]["gpu"], "3", "it asks for 3 at a time");
}

#[test]
fn limits_hold_for_surplus() {
    let queues = json!([{"name": "a", "limit": {"gpu": 2}}, {"name": "b"}]);
    let elastic = with(gang("w", "a", 4), json!({"gang_min": 1}));
    let answer = cycle(&group(json!({"queues": queues, "pending": elastic})));
    assert_eq!(starts(&answer).len(), 2);
    assert_eq!(reason(&answer, "w").0, "queue_limit");
}

#[test]
fn a_strict_order_stops_surplus() {
    let elastic = with(gang("w", "a", 4), json!({"gang_min": 1, "position": 1}));
    let document =
        json!({"pending": [elastic, job("big", "b", 4)], "cycle": {"actions": ["allocate"], "backfill": "none"}});
    let answer = cycle(&group(document.clone()));
    assert_eq!(starts(&answer), ["w allocate -"]);
    assert_eq!(reason(&answer, "w").0, "behind");
    let by_queues = with(document, json!({"cycle": {"actions": ["allocate"], "backfill": "none", "order": "queues"}}));
    assert_eq!(starts(&cycle(&group(by_queues))).len(), 2, "up to the share of its queue, since b claims room");
}

#[test]
fn no_surplus_causes_an_eviction() {
    let elastic = with(gang("w", "a", 2), json!({"gang_min": 1}));
    let answer = cycle(&group(json!({"running": [runs("r", "b", 3, "n1")], "pending": elastic})));
    assert_eq!(starts(&answer), ["w allocate -"]);
    assert!(answer["evictions"].as_array().unwrap().is_empty());
}

#[test]
fn surplus_makes_way_for_what_wants_to_be_near_it() {
    // The minimum fills n1; only the second member makes n2 an agent on which `near` may run.
    let elastic = with(gang("elastic", "a", 2), json!({"gang_min": 1, "position": 2, "labels": {"app": "x"}}));
    let affinity = json!({"with": [{"labels": {"app": "x"}, "topology_key": "agent_id"}]});
    let near = with(job("near", "a", 1), json!({"position": 1, "affinity": affinity}));
    let document = json!({"capacity": {"gpu": 3}, "agents": agents(&[1, 2]), "pending": [elastic, near]});
    assert_eq!(starts(&cycle(&group(document))), ["elastic allocate n1", "elastic backfill n2", "near allocate n2"]);
}

#[test]
fn members_that_are_too_large_ask_for_no_share() {
    // Two members of 3 gpu fit on no agent. Only the first one counts, so that `b` may have the rest.
    let members = json!([{"slots": {"gpu": 1}}, {"slots": {"gpu": 3}, "count": 2}]);
    let elastic = json!({"workload_id": "w", "queue": "a", "gang_min": 1, "members": members});
    let answer = cycle(&group(json!({"agents": agents(&[2, 2]), "pending": [elastic, gang("other", "b", 3)]})));
    let shares: Vec<&serde_json::Value> =
        answer["before"].as_array().unwrap().iter().map(|figures| &figures["fair_share"]["gpu"]).collect();
    assert_eq!(shares, ["1", "3"]);
}

#[test]
fn members_above_the_minimum_that_ask_for_nothing_start_by_backfill() {
    let elastic = json!({"workload_id": "w", "queue": "a", "gang_min": 1, "members": [{"slots": {}, "count": 2}]});
    assert_eq!(starts(&cycle(&group(json!({"pending": elastic})))), ["w backfill -", "w backfill -"]);
}
