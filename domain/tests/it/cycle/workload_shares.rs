//! The shares of workloads in their queues, under `min_share` with `leaves: "workloads"`.

use serde_json::{Value, json};

use super::support::{cycle, gang, job, merged, runs, with};

/// Queues `a` and `b` of equal weight on ten gpus, of which a workload of `a` runs on two.
fn group(more: Value) -> Value {
    let pending = [
        with(job("large", "a", 6), json!({"submitted_at": "2026-01-13T08:00:00Z"})),
        with(job("small", "a", 1), json!({"submitted_at": "2026-01-13T09:00:00Z"})),
        job("other", "b", 5),
    ];
    let document = json!({"algorithm": "min_share", "capacity": {"gpu": 10}, "now": "2026-01-13T10:00:00Z",
        "options": {"leaves": "workloads"}, "queues": [{"name": "a"}, {"name": "b"}],
        "running": [runs("r", "a", 2, "n1")], "pending": pending});
    merged(document, more)
}

/// The shares of the workloads of a queue, as lines of id, ratio and if that is below one member.
fn shares(answer: &Value, queue: &str) -> Vec<String> {
    assert_eq!(answer["before"].as_array().unwrap().len(), answer["after"].as_array().unwrap().len());
    let of_queue = |list: &str| {
        answer[list].as_array().unwrap().iter().find(|figures| figures["queue"] == queue).unwrap()["workloads"].clone()
    };
    assert_eq!(of_queue("before"), of_queue("after"), "shares are divided once");
    let line = |share: &Value| {
        let below = if share["below_one_member"] == true { " below one member" } else { "" };
        format!("{} {}{below}", share["workload_id"].as_str().unwrap(), share["fair_share_ratio"].as_str().unwrap())
    };
    of_queue("before").as_array().unwrap().iter().map(line).collect()
}

#[test]
fn the_share_of_a_queue_is_divided_among_its_workloads_up_to_their_demand() {
    // Half of the group for `a`: min(0.2, x) + min(0.6, x) + min(0.1, x) = 0.5, so x = 0.2.
    let answer = cycle(&group(json!({})));
    assert_eq!(shares(&answer, "a"), ["r 0.2", "large 0.2 below one member", "small 0.1"]);
    assert_eq!(shares(&answer, "b"), ["other 0.5"]);
}

#[test]
fn a_share_is_held_against_the_smallest_member() {
    let members = json!({"pending": [gang("large", "a", 6), job("other", "b", 5)]});
    assert_eq!(shares(&cycle(&group(members)), "a"), ["r 0.2", "large 0.3"]);
}

#[test]
fn a_fifo_queue_serves_its_workloads_in_order() {
    let fifo = json!({"queues": [{"name": "a", "mode": "fifo"}, {"name": "b"}]});
    let expected = ["r 0.2", "large 0.3 below one member", "small 0 below one member"];
    assert_eq!(shares(&cycle(&group(fifo)), "a"), expected);
}

#[test]
fn a_workload_that_runs_and_waits_has_one_share() {
    let more = json!({"pending": [with(job("r", "a", 2), json!({"gang_min": 1})), job("other", "b", 5)]});
    assert_eq!(shares(&cycle(&group(more)), "a"), ["r 0.4"]);
}

#[test]
fn workloads_of_a_parent_share_what_its_children_leave() {
    let queues = json!([{"name": "a"}, {"name": "child", "parent": "a"}, {"name": "b"}]);
    let pending = json!([job("own", "a", 4), job("below", "child", 3), job("other", "b", 5)]);
    let answer = cycle(&group(json!({"queues": queues, "pending": pending, "running": []})));
    assert_eq!(shares(&answer, "child"), ["below 0.3"]);
    assert_eq!(shares(&answer, "a"), ["own 0.2 below one member"]);
}

#[test]
fn a_workload_that_is_too_large_asks_for_nothing() {
    let pending = json!([job("huge", "a", 11), job("small", "a", 1)]);
    let answer = cycle(&group(json!({"pending": pending})));
    assert_eq!(shares(&answer, "a"), ["r 0.2", "huge 0", "small 0.1"]);
}

#[test]
fn other_cycles_show_no_shares_of_workloads() {
    for options in [json!({"options": {"leaves": "queues"}}), json!({"options": {}}), json!({"algorithm": "drf"})] {
        let answer = cycle(&group(options.clone()));
        assert!(answer["before"][0].get("workloads").is_none(), "{options}");
    }
}
