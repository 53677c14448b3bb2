//! Each predicate, as tables of agents on which a workload may run.

use serde_json::{Value, json};

use super::support::{cycle, group, merged, reason, starts};

/// The agents on which members of one gpu may start, one after the other, if nothing else runs: every agent that passes
/// gets one.
fn passing(agents: &Value, workload: Value, running: &Value) -> Vec<String> {
    let one = |agent: &Value| {
        let mut only = agent.clone();
        only["available_slots"] = json!({"gpu": 1});
        only
    };
    let all: Vec<Value> = agents.as_array().unwrap().iter().map(one).collect();
    let members = json!([{"slots": {"gpu": 1}, "count": all.len()}]);
    let workload = merged(json!({"workload_id": "w", "queue": "a", "gang_min": 1, "members": members}), workload);
    let document = json!({
        "capacity": {"gpu": 100}, "agents": all, "running": running, "pending": workload, "cycle": {"actions": ["allocate"]}
    });
    let answer = cycle(&group(document));
    let mut agents: Vec<String> =
        starts(&answer).iter().map(|start| start.rsplit(' ').next().unwrap().to_owned()).collect();
    agents.sort();
    agents
}

fn labelled() -> Value {
    json!([
        {"agent_id": "n1", "labels": {"zone": "x", "size": "4"}},
        {"agent_id": "n2", "labels": {"zone": "y", "size": "8"}},
        {"agent_id": "n3", "labels": {"size": "big"}}
    ])
}

#[test]
fn expressions_on_labels() {
    let cases = [
        (json!({"key": "zone", "operator": "In", "values": ["x", "z"]}), vec!["n1"]),
        (json!({"key": "zone", "operator": "NotIn", "values": ["x"]}), vec!["n2", "n3"]),
        (json!({"key": "zone", "operator": "Exists"}), vec!["n1", "n2"]),
        (json!({"key": "zone", "operator": "DoesNotExist"}), vec!["n3"]),
        (json!({"key": "size", "operator": "Gt", "values": ["4"]}), vec!["n2"]),
        (json!({"key": "size", "operator": "Lt", "values": ["8"]}), vec!["n1"]),
        (json!({"key": "agent_id", "operator": "In", "values": ["n2"]}), vec!["n2"]),
    ];
    for (expression, expected) in cases {
        let workload = json!({"affinity": {"agents": [expression]}});
        assert_eq!(passing(&labelled(), workload, &json!([])), expected, "{expression}");
    }
}

#[test]
fn all_expressions_have_to_hold() {
    let both = json!([{"key": "zone", "operator": "Exists"}, {"key": "size", "operator": "Gt", "values": ["5"]}]);
    assert_eq!(passing(&labelled(), json!({"affinity": {"agents": both}}), &json!([])), ["n2"]);
}

#[test]
fn taints_and_tolerations() {
    let agents = json!([
        {"agent_id": "n1", "taints": [{"key": "gpu", "value": "old", "effect": "NoSchedule"}]},
        {"agent_id": "n2", "taints": [{"key": "gpu", "value": "new", "effect": "NoExecute"}]},
        {"agent_id": "n3", "taints": [{"key": "noisy", "effect": "PreferNoSchedule"}]}
    ]);
    let cases = [
        (json!([]), vec!["n3"]),
        (json!([{"key": "gpu", "value": "old"}]), vec!["n1", "n3"]),
        (json!([{"key": "gpu", "operator": "Exists"}]), vec!["n1", "n2", "n3"]),
        (json!([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]), vec!["n2", "n3"]),
        (json!([{"operator": "Exists"}]), vec!["n1", "n2", "n3"]),
        (json!([{"key": "gpu"}]), vec!["n3"]),
        (json!([{"key": "other", "operator": "Exists"}]), vec!["n3"]),
    ];
    for (tolerations, expected) in cases {
        assert_eq!(passing(&agents, json!({"tolerations": tolerations}), &json!([])), expected, "{tolerations}");
    }
}

#[test]
fn a_workload_spreads_by_max_per_agent() {
    let agents =
        json!([{"agent_id": "n1", "available_slots": {"gpu": 4}}, {"agent_id": "n2", "available_slots": {"gpu": 4}}]);
    let members = json!([{"slots": {"gpu": 1}, "count": 3}]);
    let gang = |most: u64| json!({"workload_id": "w", "queue": "a", "max_per_agent": most, "members": members});
    let document = |most: u64| json!({"capacity": {"gpu": 8}, "agents": agents, "pending": gang(most)});
    assert_eq!(starts(&cycle(&group(document(2)))), ["w allocate n1,n1,n2"]);
    let answer = cycle(&group(document(1)));
    assert_eq!(reason(&answer, "w"), ("too_large".to_owned(), json!({"scope": "members", "asked": "3", "most": "2"})));
}

fn zones() -> Value {
    json!([
        {"agent_id": "n1", "labels": {"zone": "x"}}, {"agent_id": "n2", "labels": {"zone": "x"}},
        {"agent_id": "n3", "labels": {"zone": "y"}}, {"agent_id": "n4"}
    ])
}

fn neighbour(labels: &Value, affinity: &Value) -> Value {
    json!([{"workload_id": "r", "queue": "b", "labels": labels, "affinity": affinity,
        "members": [{"kernel_id": "k", "slots": {}, "agent_id": "n1"}]}])
}

#[test]
fn a_workload_stays_near_others() {
    let with = |app: &str| json!({"affinity": {"with": [{"labels": {"app": app}, "topology_key": "zone"}]}});
    let running = neighbour(&json!({"app": "db", "tier": "1"}), &json!({}));
    assert_eq!(passing(&zones(), with("db"), &running), ["n1", "n2"]);
    assert_eq!(passing(&zones(), with("other"), &running), Vec::<String>::new());
    let own = merged(with("w"), json!({"labels": {"app": "w"}}));
    assert_eq!(passing(&zones(), own, &running), ["n1", "n2"], "the first one goes anywhere, the others follow it");
}

#[test]
fn a_workload_keeps_away_from_others() {
    let against = |app: &str| json!({"affinity": {"against": [{"labels": {"app": app}, "topology_key": "zone"}]}});
    let running = neighbour(&json!({"app": "db"}), &json!({}));
    assert_eq!(passing(&zones(), against("db"), &running), ["n3", "n4"]);
    let own = merged(against("w"), json!({"labels": {"app": "w"}}));
    assert_eq!(passing(&zones(), own, &json!([])), ["n1", "n3", "n4"], "one in each zone, and where there is none");
}

#[test]
fn others_keep_a_workload_away() {
    let away = json!({"against": [{"labels": {"app": "w"}, "topology_key": "zone"}]});
    let running = neighbour(&json!({}), &away);
    assert_eq!(passing(&zones(), json!({"labels": {"app": "w"}}), &running), ["n3", "n4"]);
    assert_eq!(passing(&zones(), json!({"labels": {"app": "other"}}), &running).len(), 4);
}

#[test]
fn affinity_in_a_circle_waits_for_predicates() {
    let near = |id: &str, other: &str| {
        json!({"workload_id": id, "queue": "a", "labels": {"app": id}, "members": [{"slots": {"gpu": 1}}],
            "affinity": {"with": [{"labels": {"app": other}, "topology_key": "agent_id"}]}})
    };
    let agents = json!([{"agent_id": "n1", "available_slots": {"gpu": 4}}]);
    let answer = cycle(&group(json!({"agents": agents, "pending": [near("x", "y"), near("y", "x")]})));
    for id in ["x", "y"] {
        assert_eq!(reason(&answer, id), ("predicates".to_owned(), json!({"refused": {"affinity": 1}, "agents": 1})));
    }
}

#[test]
fn a_workload_that_starts_later_lets_others_near_it() {
    let near = json!({"workload_id": "x", "queue": "a", "position": 1, "members": [{"slots": {"gpu": 1}}],
        "affinity": {"with": [{"labels": {"app": "y"}, "topology_key": "agent_id"}]}});
    let first = json!({"workload_id": "y", "queue": "a", "position": 2, "labels": {"app": "y"},
        "members": [{"slots": {"gpu": 1}}]});
    let agents =
        json!([{"agent_id": "n1", "available_slots": {"gpu": 2}}, {"agent_id": "n2", "available_slots": {"gpu": 2}}]);
    let answer = cycle(&group(json!({"agents": agents, "pending": [near, first]})));
    assert_eq!(starts(&answer), ["y allocate n1", "x allocate n1"]);
}
