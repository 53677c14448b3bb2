//! Each reason in its smallest case, with its figures.

use serde_json::{Value, json};

use super::support::{agents, cycle, evictions, gang, group, job, reason, runs, started, waits, with};

fn why(document: Value, id: &str) -> (String, Value) {
    reason(&cycle(&group(document)), id)
}

#[test]
fn a_member_larger_than_any_agent_is_too_large() {
    let document = json!({"agents": agents(&[2, 2]), "pending": [job("w", "a", 3), job("small", "a", 1)]});
    let answer = cycle(&group(document));
    let expected = json!({"scope": "agent", "slot": "gpu", "asked": "3", "most": "2"});
    assert_eq!(reason(&answer, "w"), ("too_large".to_owned(), expected));
    assert_eq!(waits(&answer, "w")["position"], Value::Null);
    assert_eq!(started(&answer), ["small"], "it keeps no place ahead of others");
}

#[test]
fn a_minimum_larger_than_the_group_is_too_large() {
    let document = json!({"agents": agents(&[4, 4]), "pending": [gang("w", "a", 5)]});
    assert_eq!(
        why(document, "w"),
        ("too_large".to_owned(), json!({"scope": "group", "slot": "gpu", "asked": "5", "most": "4"}))
    );
}

#[test]
fn a_minimum_above_the_limit_of_a_queue_is_too_large() {
    let queues = json!([{"name": "top", "limit": {"gpu": 1}}, {"name": "a", "parent": "top"}]);
    let expected = json!({"scope": "queue", "slot": "gpu", "asked": "2", "most": "1", "queue": "top"});
    assert_eq!(why(json!({"queues": queues, "pending": [job("w", "a", 2)]}), "w"), ("too_large".to_owned(), expected));
}

#[test]
fn a_gang_for_which_the_empty_agents_are_too_small_is_too_large() {
    let gang = json!({"workload_id": "w", "queue": "a", "members": [{"slots": {"gpu": 2}, "count": 2}]});
    let document = json!({"agents": agents(&[3, 1]), "pending": [gang]});
    assert_eq!(why(document, "w"), ("too_large".to_owned(), json!({"scope": "members", "asked": "2", "most": "1"})));
}

#[test]
fn what_is_too_large_asks_for_no_share() {
    let answer = cycle(&group(json!({"agents": agents(&[2, 2]), "pending": [job("w", "a", 3), job("s", "b", 1)]})));
    let shares: Vec<&Value> = answer["before"].as_array().unwrap().iter().map(|f| &f["fair_share"]["gpu"]).collect();
    assert_eq!(shares, ["0", "1"]);
}

#[test]
fn no_room_names_the_scarcest_slot() {
    let agents = json!([
        {"agent_id": "n1", "available_slots": {"gpu": 2, "cpu": 8}},
        {"agent_id": "n2", "available_slots": {"gpu": 2, "cpu": 8}}
    ]);
    let member = json!({"slots": {"gpu": 2, "cpu": 4}});
    let document = json!({
        "capacity": {"gpu": 4, "cpu": 16}, "agents": agents, "running": [runs("r1", "a", 1, "n1"), runs("r2", "a", 1, "n2")],
        "pending": {"workload_id": "w", "queue": "b", "members": [member]}, "cycle": {"actions": ["allocate"]}
    });
    assert_eq!(
        why(document, "w"),
        ("no_room".to_owned(), json!({"slot": "gpu", "asked": "2", "most_free": "1", "free": "2"}))
    );
}

#[test]
fn only_agents_that_pass_count_as_free() {
    let agents = json!([
        {"agent_id": "n1", "available_slots": {"gpu": 2}, "schedulable": false},
        {"agent_id": "n2", "available_slots": {"gpu": 2}}
    ]);
    let document = json!({
        "agents": agents, "running": [runs("r", "a", 1, "n2")], "pending": job("w", "b", 2), "cycle": {"actions": ["allocate"]}
    });
    assert_eq!(
        why(document, "w"),
        ("no_room".to_owned(), json!({"slot": "gpu", "asked": "2", "most_free": "1", "free": "1"}))
    );
}

#[test]
fn a_gang_of_which_some_fit_says_how_many() {
    let document =
        json!({"agents": agents(&[2, 2]), "running": [runs("r", "b", 1, "n1")], "pending": gang("w", "a", 4)});
    let document = with(document, json!({"cycle": {"actions": ["allocate"]}}));
    assert_eq!(why(document, "w"), ("gang".to_owned(), json!({"fit": 3, "minimum": 4})));
}

#[test]
fn a_limit_names_the_first_queue_that_refuses() {
    let queues = json!([
        {"name": "top", "limit": {"gpu": 2}}, {"name": "a", "parent": "top", "limit": {"gpu": 2}}, {"name": "b"}
    ]);
    let document = json!({"queues": queues, "running": [runs("r", "a", 1, "n1")], "pending": job("w", "a", 2)});
    let expected = json!({"queue": "a", "slot": "gpu", "limit": "2", "held": "1"});
    assert_eq!(why(document, "w"), ("queue_limit".to_owned(), expected));
}

#[test]
fn a_limit_keeps_the_room_for_others() {
    let queues = json!([{"name": "a", "limit": {"gpu": 2}}, {"name": "b"}]);
    let pending = json!([job("first", "a", 2), job("second", "a", 1), job("third", "b", 1)]);
    let answer = cycle(&group(json!({"queues": queues, "pending": pending})));
    assert_eq!(started(&answer), ["first", "third"]);
    assert_eq!(reason(&answer, "second").0, "queue_limit");
}

#[test]
fn a_queue_with_its_share_waits_for_those_below_theirs() {
    let document = json!({
        "running": [runs("r", "b", 2, "n1")],
        "pending": [job("small", "b", 1), with(job("big", "a", 3), json!({"priority": 1}))],
        "cycle": {"order": "queues", "backfill": "none", "actions": ["allocate"]}
    });
    let expected = json!({"queue": "b", "share": {"gpu": "2"}, "held": {"gpu": "2"}});
    assert_eq!(why(document, "small"), ("queue_share".to_owned(), expected));
}

#[test]
fn work_that_may_not_be_evicted_stays_in_quota() {
    let fixed = |id: &str| with(job(id, "a", 1), json!({"preemptible": false}));
    let document = json!({"pending": [fixed("w1"), fixed("w2"), fixed("w3")]});
    let answer = cycle(&group(document.clone()));
    assert_eq!(started(&answer), ["w1", "w2"]);
    let expected = json!({"queue": "a", "slot": "gpu", "quota": "2", "held": "2"});
    assert_eq!(reason(&answer, "w3"), ("quota_non_preemptible".to_owned(), expected));
    let plugins = with(document.clone(), json!({"options": {"policy": "plugins"}}));
    assert_eq!(started(&cycle(&group(plugins))).len(), 3, "only the strategies know the rule");
    let without = with(document, json!({"queues": [{"name": "a"}, {"name": "b"}]}));
    assert_eq!(started(&cycle(&group(without))).len(), 3, "without any quota there is none to keep");
}

#[test]
fn predicates_count_the_agents_that_each_refuses() {
    let agents = json!([
        {"agent_id": "n1", "available_slots": {"gpu": 2}, "schedulable": false},
        {"agent_id": "n2", "available_slots": {"gpu": 2}, "labels": {"zone": "x"}},
        {"agent_id": "n3", "available_slots": {"gpu": 2}, "labels": {"zone": "y"},
         "taints": [{"key": "broken", "effect": "NoExecute"}]}
    ]);
    let member = json!({"slots": {"gpu": 1}, "labels": {"zone": "y"}});
    let document = json!({"agents": agents, "pending": {"workload_id": "w", "queue": "a", "members": [member]}});
    let answer = cycle(&group(document));
    let refused = json!({"refused": {"schedulable": 1, "labels": 1, "taints": 1}, "agents": 3});
    assert_eq!(reason(&answer, "w"), ("predicates".to_owned(), refused));
    assert_eq!(waits(&answer, "w")["position"], Value::Null, "no agent will ever pass");
}

#[test]
fn a_cordoned_agent_refuses_for_now() {
    let agents = json!([{"agent_id": "n1", "available_slots": {"gpu": 4}, "schedulable": false}]);
    let answer = cycle(&group(json!({"agents": agents, "pending": job("w", "a", 1)})));
    assert_eq!(reason(&answer, "w"), ("predicates".to_owned(), json!({"refused": {"schedulable": 1}, "agents": 1})));
    assert_eq!(waits(&answer, "w")["position"], 1);
}

#[test]
fn without_any_agent_no_predicate_refuses_one() {
    let answer = cycle(&group(json!({"agents": [], "pending": job("w", "a", 1)})));
    assert_eq!(reason(&answer, "w"), ("predicates".to_owned(), json!({"refused": {}, "agents": 0})));
}

#[test]
fn a_strict_order_waits_behind_the_first_that_does_not_fit() {
    let pending = json!([job("w1", "a", 2), job("w2", "a", 3), job("w3", "b", 1)]);
    let strict = json!({"pending": pending, "cycle": {"backfill": "none", "actions": ["allocate", "backfill"]}});
    let answer = cycle(&group(strict.clone()));
    assert_eq!(started(&answer), ["w1"]);
    assert_eq!(reason(&answer, "w3"), ("behind".to_owned(), json!({})));
    assert_eq!(waits(&answer, "w3")["blocked_by"], json!(["w2"]));
    let mut by_queues = strict;
    by_queues["cycle"]["order"] = json!("queues");
    assert_eq!(started(&cycle(&group(by_queues))), ["w3", "w1"], "only the queue of w2 waits");
}

#[test]
fn depth_ends_the_look() {
    let pending = json!([job("w1", "a", 1), job("w2", "a", 1), job("w3", "a", 1)]);
    for order in ["sequencer", "queues"] {
        let answer = cycle(&group(json!({"pending": pending, "cycle": {"depth": 2, "order": order}})));
        assert_eq!(started(&answer), ["w1", "w2"], "{order}");
        assert_eq!(reason(&answer, "w3"), ("depth".to_owned(), json!({})), "{order}");
        assert_eq!(waits(&answer, "w3")["position"], 3, "{order}");
    }
}

#[test]
fn a_refused_reclaim_prints_the_line_about_the_workload() {
    let running = with(runs("r", "b", 4, "n1"), json!({"preemptible": false}));
    let document = json!({"running": [running], "pending": job("w", "a", 2)});
    let answer = cycle(&group(document));
    let (reason, details) = reason(&answer, "w");
    assert_eq!(reason, "reclaim_refused");
    assert_eq!(details["rule"], "placement");
    assert_eq!(details["level"], "a");
    assert!(evictions(&answer).is_empty());
}

#[test]
fn a_budget_of_nothing_searches_for_nothing() {
    let document = json!({"running": [runs("r", "b", 4, "n1")], "pending": job("w", "a", 2)});
    let answer = cycle(&group(with(document.clone(), json!({"cycle": {"search_budget_ms": 0}}))));
    assert_eq!(reason(&answer, "w"), ("budget".to_owned(), json!({})));
    assert_eq!(evictions(&cycle(&group(document))), ["r for w by fair_share"]);
}

#[test]
fn reasons_describe_the_final_state() {
    // When w1 has its turn 3 of its members fit. Then w2 takes a gpu, and 2 are left.
    let document = json!({
        "running": [runs("r", "b", 1, "n1")], "pending": [gang("w1", "a", 4), job("w2", "a", 1)],
        "cycle": {"actions": ["allocate", "backfill"]}
    });
    let answer = cycle(&group(document));
    assert_eq!(started(&answer), ["w2"]);
    assert_eq!(reason(&answer, "w1"), ("gang".to_owned(), json!({"fit": 2, "minimum": 4})));
}

#[test]
fn a_minimum_that_exceeds_a_limit_with_its_running_members_is_too_large() {
    let queues = json!([{"name": "a", "limit": {"gpu": 3}}, {"name": "b"}]);
    let member = |at: u64| json!({"kernel_id": format!("k{at}"), "slots": {"gpu": 1}, "agent_id": "n1"});
    let members: Vec<Value> = (1..=3).map(member).collect();
    let running = json!([{"workload_id": "w", "queue": "a", "gang_min": 4, "members": members}]);
    let rest = |min: u64| with(job("w", "a", 1), json!({"gang_min": min}));
    let document = |min: u64| json!({"queues": queues, "running": running, "pending": rest(min)});
    let expected = json!({"scope": "queue", "slot": "gpu", "asked": "4", "most": "3", "queue": "a"});
    assert_eq!(why(document(4), "w"), ("too_large".to_owned(), expected));
    assert_eq!(why(document(3), "w").0, "queue_limit", "members above the minimum may start once others have ended");
}

#[test]
fn agents_that_take_no_members_now_may_come_back() {
    let mut nodes = agents(&[4, 4]);
    nodes[1]["schedulable"] = json!(false);
    let document = json!({"capacity": {"gpu": 4}, "agents": nodes, "pending": [gang("w", "a", 8)]});
    let answer = cycle(&group(document));
    assert_eq!(reason(&answer, "w"), ("gang".to_owned(), json!({"fit": 4, "minimum": 8})));
    assert_eq!(waits(&answer, "w")["position"], json!(1));

    let mut nodes = agents(&[4, 4]);
    for node in nodes.as_array_mut().unwrap() {
        node["schedulable"] = json!(false);
    }
    let answer = cycle(&group(json!({"capacity": {}, "agents": nodes, "pending": [job("w", "a", 1)]})));
    assert_eq!(reason(&answer, "w"), ("predicates".to_owned(), json!({"refused": {"schedulable": 2}, "agents": 2})));
    assert_eq!(waits(&answer, "w")["position"], json!(1));
}

#[test]
fn room_that_is_free_on_too_many_agents_is_no_refusal_of_victims() {
    let running = [runs("r1", "a", 3, "n1"), runs("r2", "a", 3, "n2")];
    let actions = json!({"actions": ["allocate", "reclaim"]});
    let expected = json!({"slot": "gpu", "asked": "2", "most_free": "1", "free": "2"});
    for queues in [json!([{"name": "a"}]), json!([{"name": "a"}, {"name": "b"}])] {
        let document = json!({"capacity": {"gpu": 8}, "agents": agents(&[4, 4]), "queues": queues, "running": running,
            "pending": [job("w", "a", 2)], "cycle": actions});
        assert_eq!(why(document, "w"), ("no_room".to_owned(), expected.clone()));
    }
    // Nothing but its own queue holds what is missing.
    let document = json!({"capacity": {"gpu": 8}, "agents": agents(&[4, 4]), "queues": [{"name": "a", "quota": {"gpu": 8}}],
        "running": running, "pending": [job("w", "a", 3)], "cycle": actions});
    assert_eq!(why(document, "w").0, "no_room");
}
