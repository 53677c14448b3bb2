//! Input that cannot be used, and input that looks so and can.

use domain::cycle::{CycleOptions, CycleSimulation, action_names, score_names};
use domain::reading::read_from;
use serde_json::{Value, json};

use super::support::{cycle, gang, group, job, merged, reason, runs, started, try_cycle, warnings, with};

fn faults(document: Value) -> Vec<(String, &'static str)> {
    let faults = try_cycle(&group(document)).expect_err("a fault");
    faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect()
}

fn only(document: Value, pointer: &str, code: &'static str) {
    let shown = document.to_string();
    assert_eq!(faults(document), [(pointer.to_owned(), code)], "{shown}");
}

#[test]
fn faults_of_pending_workloads_have_their_places() {
    let pending = |more: Value| json!({"pending": [job("first", "a", 1), with(job("w", "a", 1), more)]});
    let cases = [
        (json!({"queue": "gone"}), "queue", "unknown_queue"),
        (json!({"workload_id": "first"}), "workload_id", "duplicate_id"),
        (json!({"members": []}), "members", "empty"),
        (json!({"members": [{"slots": {}, "count": 0}]}), "members/0/count", "out_of_range"),
        (json!({"members": [{"slots": {}}, {"slots": {}, "count": 1_000_001}]}), "members/1/count", "out_of_range"),
        (json!({"gang_min": -1}), "gang_min", "out_of_range"),
        (json!({"gang_min": 2}), "gang_min", "out_of_range"),
        (json!({"parallel_limit": 0}), "parallel_limit", "out_of_range"),
        (json!({"tolerations": vec![json!({"operator": "Exists"}); 65]}), "tolerations", "too_many"),
        (json!({"tolerations": [{"key": " "}]}), "tolerations/0/key", "invalid_name"),
        (json!({"expected_seconds": 0}), "expected_seconds", "out_of_range"),
        (json!({"expected_seconds": 31_536_001}), "expected_seconds", "out_of_range"),
        (json!({"max_per_agent": 0}), "max_per_agent", "out_of_range"),
    ];
    for (more, place, code) in cases {
        let expected = format!("/pending/1/{place}");
        let found = faults(pending(more.clone()));
        if place == "members/1/count" {
            assert_eq!(found.first(), Some(&(expected, code)), "{more}");
            continue;
        }
        assert_eq!(found, [(expected, code)], "{more}");
    }
}

#[test]
fn a_parallel_limit_below_the_gang_is_a_fault() {
    let array = with(gang("w", "a", 4), json!({"gang_min": 3, "parallel_limit": 2}));
    only(json!({"pending": [array]}), "/pending/0/parallel_limit", "out_of_range");
}

#[test]
fn expressions_have_their_operators_and_values() {
    let expression =
        |expression: Value| json!({"pending": [with(job("w", "a", 1), json!({"affinity": {"agents": [expression]}}))]});
    for values in [json!([]), json!(["1", "2"]), json!(["one"])] {
        let document = expression(json!({"key": "k", "operator": "Gt", "values": values}));
        only(document, "/pending/0/affinity/agents/0/values", "invalid_value");
    }
}

#[test]
fn the_rest_of_a_running_workload_is_in_the_same_queue() {
    only(
        json!({"running": [runs("w", "a", 1, "n1")], "pending": [job("w", "b", 1)]}),
        "/pending/0/queue",
        "differs_from_running",
    );
}

#[test]
fn one_object_has_pointers_without_an_index() {
    only(json!({"pending": job("w", "gone", 1)}), "/pending/queue", "unknown_queue");
}

#[test]
fn too_many_kinds_of_members_are_refused_before_all_are_compared_with_agents() {
    let agents: Vec<Value> =
        (0..20_000).map(|at| json!({"agent_id": format!("n{at}"), "available_slots": {"gpu": 1}})).collect();
    let members: Vec<Value> = (1..=20_000).map(|at| json!({"slots": {"gpu": format!("0.{at:06}")}})).collect();
    let pending = json!({"workload_id": "w", "queue": "a", "members": members});
    assert_eq!(
        faults(json!({"agents": agents, "pending": pending})),
        [("/pending".to_owned(), "too_many")],
        "400 million pairs"
    );
}

#[test]
fn too_many_members_are_a_fault_of_the_list() {
    only(json!({"pending": [gang("w", "a", 600_000), gang("v", "a", 600_000)]}), "/pending", "too_many");
}

#[test]
fn options_have_their_places() {
    let cases = [
        (json!({"actions": []}), "actions", "empty"),
        (json!({"actions": ["allocate", "shrink"]}), "actions/1", "invalid_value"),
        (json!({"actions": ["preempt", "preempt"]}), "actions/1", "duplicate"),
        (json!({"order": "chaos"}), "order", "invalid_value"),
        (json!({"queue_order": "fifo"}), "queue_order", "invalid_value"),
        (json!({"backfill": "hard"}), "backfill", "invalid_value"),
        (json!({"node_order": {"nearest": 1}}), "node_order/nearest", "unknown_score"),
        (json!({"node_order": {"balanced": 1_000_001}}), "node_order/balanced", "out_of_range"),
        (
            json!({"node_order": {"balanced": {"weight": 1, "topology_key": "zone"}}}),
            "node_order/balanced",
            "invalid_value",
        ),
        (json!({"depth": 0}), "depth", "out_of_range"),
        (json!({"search_budget_ms": 60_001}), "search_budget_ms", "out_of_range"),
    ];
    for (options, place, code) in cases {
        only(json!({"cycle": options}), &format!("/cycle/{place}"), code);
    }
}

#[test]
fn faults_of_agents_and_running_workloads_have_their_places() {
    let agent = |id: &str| json!({"agent_id": id, "available_slots": {}});
    only(json!({"agents": [agent("n1"), agent("n1")]}), "/agents/1/agent_id", "duplicate_id");
    only(json!({"running": [runs("r", "gone", 1, "n1")]}), "/running/0/queue", "unknown_queue");
    let running = json!([runs("r", "a", 1, "n1"), runs("r", "b", 1, "n1")]);
    let twice = ["workload_id", "members/0/kernel_id"].map(|key| (format!("/running/1/{key}"), "duplicate_id"));
    assert_eq!(faults(json!({"running": running})), twice);
}

#[test]
fn all_faults_come_at_once() {
    let document = json!({"algorithm": "magic", "cycle": {"order": "chaos", "depth": 0}, "agents": [{"agent_id": "", "available_slots": {}}],
        "pending": [with(job("w", "gone", 1), json!({"gang_min": 7, "expected_seconds": 0}))]});
    let pointers: Vec<String> = faults(document).into_iter().map(|(pointer, _)| pointer).collect();
    let expected = [
        "/algorithm",
        "/cycle/order",
        "/cycle/depth",
        "/agents/0/agent_id",
        "/pending/0/queue",
        "/pending/0/expected_seconds",
        "/pending/0/gang_min",
    ];
    assert_eq!(pointers, expected);
}

#[test]
fn an_unknown_key_is_a_fault_at_its_place() {
    let place = |document: Value| {
        let text = group(document).to_string();
        let read: Result<CycleSimulation, _> =
            read_from(&mut serde_json::Deserializer::from_str(&text), "invalid_value");
        read.map(|_| ()).expect_err("an unknown key").pointer()
    };
    assert_eq!(place(json!({"speed": 1})), "/speed");
    assert_eq!(place(json!({"cycle": {"speed": 1}})), "/cycle/speed");
    assert_eq!(place(json!({"pending": [with(job("w", "a", 1), json!({"speed": 1}))]})), "/pending/0/speed");
    assert_eq!(place(json!({"pending": with(job("w", "a", 1), json!({"speed": 1}))})), "/pending/speed");
    assert_eq!(place(json!({"pending": 7})), "/pending");
    let pending = |more: Value| json!({"pending": [with(job("w", "a", 1), more)]});
    let expression = json!({"agents": [{"key": "k", "operator": "Like"}]});
    assert_eq!(place(pending(json!({"affinity": expression}))), "/pending/0/affinity/agents/0/operator");
    assert_eq!(place(pending(json!({"tolerations": [{"operator": "Is"}]}))), "/pending/0/tolerations/0/operator");
    let tainted = json!({"agent_id": "n1", "available_slots": {}, "taints": [{"key": "k", "effect": "Never"}]});
    assert_eq!(place(json!({"agents": [tainted]})), "/agents/0/taints/0/effect");
}

#[test]
fn every_body_of_a_reclaim_is_one_of_a_cycle() {
    let body = json!({"algorithm": "quota_over_quota", "options": {}, "capacity": {"gpu": 4},
        "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}],
        "running": [{"workload_id": "w1", "queue": "b", "priority": 0, "preemptible": true, "gang_min": 2, "members": [
            {"kernel_id": "k1", "slots": {"gpu": 2}}, {"kernel_id": "k2", "slots": {"gpu": 1}}, {"kernel_id": "k3", "slots": {"gpu": 1}}]}],
        "pending": {"workload_id": "w2", "queue": "a", "priority": 0, "preemptible": true, "created_at": "2026-01-01T00:00:00Z",
            "gang_min": 1, "members": [{"slots": {"gpu": 1}, "labels": {}}]}});
    let answer = cycle(&body);
    assert_eq!(answer["evictions"][0]["kernel_ids"], json!(["k3"]));
    assert_eq!(answer["evictions"][0]["for"], "w2");
}

#[test]
fn a_workload_without_a_queue_counts_for_that_of_its_owner() {
    let owned = |id: &str, owner: Value| json!({"workload_id": id, "owner": owner, "members": [{"slots": {"gpu": 1}}]});
    let pending = json!([
        owned("w1", json!({"project": "a", "domain": "b"})),
        owned("w2", json!({"project": "x", "domain": "b"})),
        owned("w3", json!({}))
    ]);
    let answer = cycle(&group(json!({"pending": pending})));
    let queues: Vec<&Value> = answer["starts"].as_array().unwrap().iter().map(|start| &start["queue"]).collect();
    assert_eq!(queues, ["a", "b", "default"]);
}

#[test]
fn a_submission_in_the_future_is_a_warning() {
    let late = with(job("w", "a", 1), json!({"submitted_at": "2026-01-13T10:00:01Z"}));
    let answer = cycle(&group(json!({"pending": [late]})));
    assert!(warnings(&answer).contains(&"submitted_in_future"));
    assert_eq!(started(&answer), ["w"]);
}

#[test]
fn slots_of_which_the_group_has_none_are_too_large() {
    let member = json!({"workload_id": "w", "queue": "a", "members": [{"slots": {"tpu": 1}}]});
    assert_eq!(reason(&cycle(&group(json!({"pending": [member]}))), "w").0, "too_large");
}

#[test]
fn a_gang_minimum_of_nothing_is_one() {
    let answer =
        cycle(&group(merged(json!({"pending": [with(gang("w", "a", 9), json!({"gang_min": 0}))]}), json!({}))));
    assert_eq!(started(&answer), ["w"]);
}

#[test]
fn the_options_name_every_action_and_every_score() {
    let facts = CycleOptions::facts();
    let of = |key: &str| facts.iter().find(|option| option.key == key).unwrap().values;
    let actions = of("actions").choices();
    assert!(actions.iter().map(|choice| choice.name).eq(action_names()));
    assert!(of("node_order").options().iter().map(|option| option.key).eq(score_names()));
    let keys: Vec<&str> = facts.iter().map(|option| option.key).collect();
    let Value::Object(known) = CycleOptions::keys() else { panic!("an object") };
    assert!(known.keys().all(|key| keys.contains(&key.as_str())) && known.len() == keys.len());
}
