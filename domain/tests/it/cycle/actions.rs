//! Each action, and how they follow each other.

use serde_json::{Value, json};

use super::support::{
    agents, cycle, evictions, gang, group, job, reason, runs, started, starts, try_cycle, waits, with,
};

#[test]
fn allocate_starts_in_the_order_of_the_group() {
    let pending = json!([
        with(job("late", "a", 1), json!({"submitted_at": "2026-01-13T09:00:00Z"})),
        with(job("early", "a", 1), json!({"created_at": "2026-01-13T08:00:00Z"})),
        with(job("urgent", "a", 1), json!({"priority": 9})),
        with(job("placed", "a", 1), json!({"position": 7})),
        job("never_submitted", "a", 1)
    ]);
    let answer = cycle(&group(json!({"capacity": {"gpu": 5}, "pending": pending})));
    assert_eq!(started(&answer), ["placed", "urgent", "early", "late", "never_submitted"]);
    let positions: Vec<&Value> = answer["starts"].as_array().unwrap().iter().map(|start| &start["position"]).collect();
    assert_eq!(positions, [1, 2, 3, 4, 5]);
}

#[test]
fn queues_take_turns_with_the_holdings_of_each_start() {
    let pending = json!([job("a1", "a", 1), job("a2", "a", 1), job("b1", "b", 1), job("b2", "b", 1)]);
    for queue_order in ["saturation", "score"] {
        let cycle_options = json!({"order": "queues", "queue_order": queue_order});
        let answer = cycle(&group(json!({"pending": pending, "cycle": cycle_options})));
        assert_eq!(started(&answer), ["a1", "b1", "a2", "b2"], "{queue_order}");
    }
}

#[test]
fn a_queue_with_its_share_comes_last_whatever_its_priority() {
    let queues = json!([{"name": "a", "weight": 3}, {"name": "b", "weight": 1, "priority": 9}]);
    let pending = json!([job("a1", "a", 1), job("a2", "a", 1), job("a3", "a", 1), job("b1", "b", 1)]);
    for queue_order in ["saturation", "score"] {
        let document = json!({"algorithm": "proportion", "queues": queues, "running": [runs("r", "b", 1, "n1")],
            "pending": pending, "cycle": {"order": "queues", "queue_order": queue_order, "actions": ["allocate"]}});
        assert_eq!(started(&cycle(&group(document))), ["a1", "a2", "a3"], "{queue_order}");
    }
}

#[test]
fn a_queue_serves_priority_then_what_holds_less_then_age() {
    let running = with(runs("half", "a", 1, "n1"), json!({"workload_id": "half"}));
    let pending = json!([
        with(job("half", "a", 1), json!({"submitted_at": "2026-01-13T07:00:00Z", "gang_min": 2})),
        with(job("new", "a", 1), json!({"submitted_at": "2026-01-13T09:00:00Z"})),
        with(job("old", "a", 1), json!({"submitted_at": "2026-01-13T08:00:00Z"})),
    ]);
    let answer = cycle(&group(json!({"running": [running], "pending": pending, "cycle": {"order": "queues"}})));
    assert_eq!(started(&answer), ["old", "new", "half"]);
}

#[test]
fn a_queue_gives_its_own_workloads_before_those_of_its_children() {
    let queues = json!([{"name": "top"}, {"name": "child", "parent": "top"}]);
    let pending = json!([job("below", "child", 1), job("own", "top", 1)]);
    let answer = cycle(&group(json!({"queues": queues, "pending": pending, "cycle": {"order": "queues"}})));
    assert_eq!(started(&answer), ["own", "below"]);
}

#[test]
fn a_gang_starts_whole_or_not_at_all() {
    let document = json!({"agents": agents(&[2, 2]), "running": [runs("r", "b", 1, "n2")],
        "pending": [gang("first", "a", 4), gang("second", "a", 3)], "cycle": {"actions": ["allocate", "backfill"]}});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["second backfill n2,n1,n1"]);
    assert_eq!(waits(&answer, "first")["members"], 4);
}

#[test]
fn backfill_goes_on_behind_what_waits_for_room() {
    let pending = json!([job("w1", "a", 1), job("w2", "a", 4), job("w3", "b", 1)]);
    let skip = json!({"pending": pending, "cycle": {"actions": ["backfill", "allocate"]}});
    assert_eq!(
        starts(&cycle(&group(skip))),
        ["w1 allocate -", "w3 backfill -"],
        "allocate comes first wherever it stands"
    );
    let without = json!({"pending": pending, "cycle": {"actions": ["allocate"], "backfill": "skip"}});
    assert_eq!(starts(&cycle(&group(without))), ["w1 allocate -"]);
}

#[test]
fn what_asks_for_nothing_starts_wherever_it_stands() {
    let pending = json!([job("big", "a", 4), {"workload_id": "zero", "queue": "a", "members": [{"slots": {}}]}]);
    let document = |options: Value| json!({"running": [runs("r", "b", 1, "n1")], "pending": pending, "cycle": options});
    let strict = json!({"backfill": "none", "actions": ["allocate", "backfill"]});
    assert_eq!(starts(&cycle(&group(document(strict)))), ["zero backfill -"]);
    let without = cycle(&group(document(json!({"actions": ["allocate"]}))));
    assert_eq!(reason(&without, "zero").0, "behind");
}

#[test]
fn reclaim_takes_from_a_queue_above_its_share() {
    let running: Vec<Value> = (1..=4).map(|at| runs(&format!("r{at}"), "b", 1, "n1")).collect();
    let document = json!({"agents": agents(&[4]), "running": running, "pending": gang("w", "a", 2)});
    let answer = cycle(&group(document));
    assert_eq!(evictions(&answer), ["r4 for w by fair_share", "r3 for w by fair_share"]);
    assert_eq!(starts(&answer), ["w reclaim n1,n1"]);
    assert_eq!(answer["evictions"][0]["action"], "reclaim");
    assert_eq!(answer["after"][0]["allocated"]["gpu"], "2");
}

#[test]
fn preempt_takes_from_less_urgent_work_of_the_same_queue() {
    let running = [runs("low", "a", 2, "n1"), with(runs("high", "a", 2, "n1"), json!({"priority": 5}))];
    let document = json!({"queues": [{"name": "a"}], "running": running, "pending": with(job("w", "a", 2), json!({"priority": 3}))});
    let answer = cycle(&group(document));
    assert_eq!(evictions(&answer), ["low for w by priority"]);
    assert_eq!(starts(&answer), ["w preempt -"]);
}

#[test]
fn reclaim_first_leaves_less_to_take_back() {
    let queues = json!([{"name": "a", "quota": {"gpu": 3}}, {"name": "b", "quota": {"gpu": 1}}]);
    let low: Vec<Value> = (1..=4).map(|at| runs(&format!("low{at}"), "b", 1, "n1")).collect();
    let pending = json!([with(gang("high", "b", 4), json!({"priority": 5})), gang("w", "a", 3)]);
    let document =
        |actions: Value| json!({"queues": queues, "running": low, "pending": pending, "cycle": {"actions": actions}});
    let usual = cycle(&group(document(json!(["allocate", "backfill", "reclaim", "preempt"]))));
    assert_eq!(started(&usual), ["w"]);
    let other = cycle(&group(document(json!(["allocate", "backfill", "preempt", "reclaim"]))));
    assert_eq!(started(&other), ["high"], "the next cycle takes 3 of it back");
}

#[test]
fn a_plan_that_finds_room_evicts_nothing() {
    let document = json!({"pending": job("w", "a", 2), "cycle": {"actions": ["reclaim"]}});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["w reclaim -"]);
    assert!(evictions(&answer).is_empty());
}

#[test]
fn what_one_plan_frees_is_withheld_from_the_next() {
    // The victim of w1 holds 3. The gpu that is left over would be enough for w2, which is not urgent enough to evict.
    let running = [with(runs("r", "a", 3, "n1"), json!({"priority": 0})), runs("s", "b", 1, "n1")];
    let pending = json!([with(job("w1", "a", 2), json!({"priority": 5})), job("w2", "b", 1)]);
    let document = json!({"agents": agents(&[4]), "running": running, "pending": pending, "cycle": {"actions": ["allocate", "preempt"]}});
    let answer = cycle(&group(document));
    assert_eq!(started(&answer), ["w1"]);
    assert_eq!(
        reason(&answer, "w2"),
        ("no_room".to_owned(), json!({"slot": "gpu", "asked": "1", "most_free": "0", "free": "0"}))
    );
}

#[test]
fn what_starts_in_the_cycle_is_no_victim() {
    let pending =
        json!([with(job("low", "a", 4), json!({"position": 1})), with(job("high", "a", 4), json!({"priority": 9}))]);
    let answer = cycle(&group(json!({"queues": [{"name": "a"}], "pending": pending})));
    assert_eq!(started(&answer), ["low"]);
    assert!(evictions(&answer).is_empty());
}

#[test]
fn members_of_the_workload_itself_are_no_victims() {
    let running =
        [with(runs("w", "a", 2, "n1"), json!({"priority": 0})), with(runs("r", "a", 2, "n1"), json!({"priority": 9}))];
    let rest = with(job("w", "a", 2), json!({"priority": 5, "gang_min": 2}));
    let answer = cycle(&group(json!({"queues": [{"name": "a"}], "running": running, "pending": rest})));
    assert!(started(&answer).is_empty() && evictions(&answer).is_empty());
}

#[test]
fn the_rest_of_a_running_workload_counts_its_members() {
    let rest = |min: u64| with(job("w", "a", 1), json!({"gang_min": min}));
    let running = json!([{"workload_id": "w", "queue": "a", "gang_min": 1, "members": [
        {"kernel_id": "k1", "slots": {"gpu": 1}}, {"kernel_id": "k2", "slots": {"gpu": 1}}]}]);
    let surplus = cycle(&group(json!({"running": running, "pending": rest(2)})));
    assert_eq!(surplus["starts"][0]["surplus"], true);
    let minimum = cycle(&group(json!({"running": running, "pending": rest(3)})));
    assert_eq!(minimum["starts"][0]["surplus"], false);
}

#[test]
fn a_limit_below_victims_opens_for_the_workload() {
    let queues = json!([
        {"name": "top", "limit": {"gpu": 2}}, {"name": "a", "parent": "top", "quota": {"gpu": 1}},
        {"name": "b", "parent": "top"}
    ]);
    let running = [runs("r1", "b", 1, "n1"), runs("r2", "b", 1, "n1")];
    let answer = cycle(&group(json!({"queues": queues, "running": running, "pending": job("w", "a", 1)})));
    assert_eq!(evictions(&answer), ["r2 for w by fair_share"]);
    assert_eq!(starts(&answer), ["w reclaim -"]);
}

#[test]
fn room_that_no_plan_could_use_is_for_all() {
    // `big` deserves 3 of 4, but what runs may not be evicted. So `small` gets the free gpu after all.
    let queues = json!([{"name": "a", "quota": {"gpu": 4}}, {"name": "b"}]);
    let running = with(runs("r", "b", 3, "n1"), json!({"preemptible": false}));
    let pending = json!([with(job("big", "a", 3), json!({"priority": 1})), job("small", "b", 1)]);
    let document = json!({"queues": queues, "running": [running], "pending": pending, "cycle": {"order": "queues"}});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["small allocate -"]);
    assert_eq!(reason(&answer, "big").0, "reclaim_refused");
}

#[test]
fn backfill_gives_nothing_away_that_reclaim_would_take_back() {
    let queues = json!([{"name": "a", "quota": {"gpu": 4}}, {"name": "b"}]);
    let running = [runs("r1", "b", 1, "n1"), runs("r2", "b", 1, "n1")];
    let pending = json!([job("big", "a", 4), job("small", "b", 2)]);
    let document = |actions: Value| {
        json!({"queues": queues, "running": running, "pending": pending,
        "cycle": {"order": "queues", "actions": actions}})
    };
    let answer = cycle(&group(document(json!(["allocate", "backfill", "reclaim"]))));
    assert_eq!(started(&answer), ["big"]);
    assert_eq!(evictions(&answer).len(), 2);
    let without_reclaim = cycle(&group(document(json!(["allocate", "backfill"]))));
    assert_eq!(started(&without_reclaim), ["small"]);
}

#[test]
fn the_order_of_the_group_with_reclaim_is_warned_about() {
    let sequencer = cycle(&group(json!({})));
    assert_eq!(super::support::warnings(&sequencer), ["order_ignores_shares"]);
    let queues = cycle(&group(json!({"cycle": {"order": "queues"}})));
    assert!(super::support::warnings(&queues).is_empty());
}

#[test]
fn a_trace_has_every_decision() {
    let document =
        json!({"explain": true, "pending": [job("w1", "a", 3), job("w2", "b", 2)], "cycle": {"actions": ["allocate"]}});
    let answer = cycle(&group(document));
    let steps: Vec<String> = answer["trace"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            format!(
                "{} {} {}",
                step["action"].as_str().unwrap(),
                step["workload_id"].as_str().unwrap(),
                step["result"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(steps[..2], ["allocate w1 started", "allocate w2 no_room"]);
    assert!(cycle(&group(json!({})))["trace"].is_null());
}

#[test]
fn a_blocker_that_waits_for_more_than_room_blocks_no_longer() {
    // `free` asks for nothing, starts wherever it stands, and keeps away what has the labels of `big`.
    let big = with(job("big", "a", 2), json!({"position": 1, "labels": {"app": "x"}}));
    let against = json!({"against": [{"labels": {"app": "x"}, "topology_key": "agent_id"}]});
    let free =
        json!({"workload_id": "free", "queue": "a", "position": 3, "affinity": against, "members": [{"slots": {}}]});
    let document = json!({"capacity": {"gpu": 2}, "agents": agents(&[2]), "running": [runs("r", "b", 1, "n1")],
        "pending": [big, with(job("last", "a", 1), json!({"position": 2})), free],
        "cycle": {"actions": ["allocate", "backfill"], "backfill": "none"}});
    let answer = cycle(&group(document));
    assert_eq!(reason(&answer, "big").0, "predicates");
    assert_eq!(started(&answer), ["free", "last"]);
}

#[test]
fn nothing_is_behind_a_workload_that_a_plan_has_started() {
    let running: Vec<Value> = (1..=4).map(|at| runs(&format!("r{at}"), "b", 1, "n1")).collect();
    let elastic = with(gang("w", "a", 2), json!({"gang_min": 1}));
    let document = json!({"agents": agents(&[4]), "running": running, "pending": elastic,
        "cycle": {"order": "queues", "backfill": "none"}});
    let answer = cycle(&group(document));
    assert_eq!(started(&answer), ["w"]);
    assert_eq!(reason(&answer, "w").0, "no_room");
    assert_eq!(waits(&answer, "w")["blocked_by"], json!([]));
}

#[test]
fn a_workload_that_a_plan_has_started_claims_no_room() {
    // The minimum of `w` gets its room on n1. Nothing waits for the free gpu of n2 but the rest of `half`.
    let running = [runs("r1", "b", 1, "n1"), runs("r2", "b", 1, "n1"), runs("half", "b", 1, "n2")];
    let member = json!({"slots": {"gpu": 1}, "count": 2, "labels": {"agent_id": "n1"}});
    let pending = json!([
        {"workload_id": "w", "queue": "a", "gang_min": 1, "members": [member]},
        with(job("half", "b", 1), json!({"gang_min": 1}))
    ]);
    let document = json!({"agents": agents(&[2, 2]), "running": running, "pending": pending,
        "cycle": {"order": "queues", "backfill": "none"}});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["w reclaim n1", "half allocate n2"]);
}

#[test]
fn in_a_strict_order_the_next_that_finds_no_room_blocks_once_a_plan_has_started_the_first() {
    let running = [
        runs("r1", "b", 1, "n1"),
        runs("r2", "b", 1, "n1"),
        with(runs("s", "b", 1, "n2"), json!({"preemptible": false})),
    ];
    let on = |id: &str, gpu: u64, agent: &str, position: u64| {
        json!({"workload_id": id, "queue": "a", "position": position,
        "members": [{"slots": {"gpu": gpu}, "labels": {"agent_id": agent}}]})
    };
    let pending = json!([on("first", 1, "n1", 1), on("second", 2, "n2", 2), on("third", 1, "n2", 3)]);
    let document =
        json!({"agents": agents(&[2, 2]), "running": running, "pending": pending, "cycle": {"backfill": "none"}});
    let answer = cycle(&group(document));
    assert_eq!(started(&answer), ["first"]);
    assert_eq!(waits(&answer, "third")["blocked_by"], json!(["second"]));
}

#[test]
fn evicted_members_count_no_longer_for_the_minimum() {
    // `x` takes both running members of `w`. The limit of `a` is open then, but the third member alone is no minimum.
    let queues = json!([{"name": "a", "quota": {"gpu": 1}, "limit": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}]);
    let member = |kernel: &str| json!({"kernel_id": kernel, "slots": {"gpu": 1}, "agent_id": "n1"});
    let running = json!([{"workload_id": "w", "queue": "a", "gang_min": 2, "members": [member("k1"), member("k2")]}]);
    let pending = json!([with(job("w", "a", 1), json!({"gang_min": 2})), job("x", "b", 2)]);
    let document = json!({"capacity": {"gpu": 3}, "agents": agents(&[2, 1]), "queues": queues, "running": running, "pending": pending});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["x reclaim n1"]);
    assert_eq!(reason(&answer, "w"), ("gang".to_owned(), json!({"fit": 1, "minimum": 2})));
    assert_eq!(waits(&answer, "w")["started"], false);
}

/// The members that a kernel with a gpu on each of these agents has.
fn parts(kernel: &str, agents: &[&str]) -> Vec<Value> {
    agents.iter().map(|agent| json!({"kernel_id": kernel, "slots": {"gpu": 1}, "agent_id": agent})).collect()
}

#[test]
fn a_kernel_on_several_agents_is_evicted_as_one() {
    let members = [parts("k1", &["n1", "n2"]), parts("k2", &["n1", "n2"])].concat();
    let running = json!([{"workload_id": "r", "queue": "b", "gang_min": 1, "members": members}]);
    let document = json!({"agents": agents(&[2, 2]), "running": running, "pending": [job("w", "a", 1)]});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["w reclaim n1"]);
    assert_eq!(answer["evictions"][0]["kernel_ids"], json!(["k2"]));
    assert_eq!(answer["after"][1]["allocated"], json!({"gpu": "2"}));
}

#[test]
fn a_kernel_on_several_agents_is_one_member_of_its_minimum() {
    // One kernel on two agents runs, and the minimum of two waits for another one.
    let members = parts("k1", &["n1", "n2"]);
    let running = json!([{"workload_id": "w", "queue": "a", "members": members}]);
    let rest = |min: u64| with(job("w", "a", 3), json!({"gang_min": min}));
    let document = |min: u64| json!({"agents": agents(&[2, 2]), "running": running, "pending": [rest(min)]});
    let faults = try_cycle(&group(document(3))).expect_err("more than the members of the workload");
    assert_eq!((&*faults[0].pointer, faults[0].code), ("/pending/0/gang_min", "out_of_range"));
    let answer = cycle(&group(document(2)));
    assert_eq!(waits(&answer, "w")["started"], false);
    let answer = cycle(&group(document(1)));
    assert_eq!(waits(&answer, "w")["started"], true);
}

#[test]
fn an_evicted_kernel_on_several_agents_is_one_lost_member() {
    // `x` takes the kernel with two parts. One of two members is left, so that the minimum lacks one and not two.
    let queues = json!([{"name": "a", "limit": {"gpu": 3}}, {"name": "b", "quota": {"gpu": 2}}]);
    let members = [parts("k1", &["n1"]), parts("k2", &["n1", "n2"])].concat();
    let running = json!([{"workload_id": "w", "queue": "a", "gang_min": 1, "members": members}]);
    let pending = json!([with(job("w", "a", 1), json!({"gang_min": 2})), job("x", "b", 2)]);
    let document = json!({"agents": agents(&[2, 2]), "queues": queues, "running": running, "pending": pending});
    let answer = cycle(&group(document));
    assert_eq!(starts(&answer), ["x reclaim n2"]);
    assert_eq!(answer["evictions"][0]["kernel_ids"], json!(["k2"]));
    assert_eq!(reason(&answer, "w").0, "no_room", "{answer:#}");
}
