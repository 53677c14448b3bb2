//! Lawful sets of victims that the usual order of victims does not find.

use fairshared::domain::reclaim::ReclaimVerdict;
use serde_json::{Value, json};

use super::support::{Case, kernels, merge, pending, plan_of, singles, workload};

fn gpus(counts: &[u32]) -> Vec<Value> {
    counts.iter().map(|count| json!({"gpu": count})).collect()
}

/// Queue b with a share runs the workloads; `asked` gpus are reclaimed.
fn from_b(capacity: u32, share: u32, running: &[Value], asked: u32) -> Value {
    json!({
        "capacity": {"gpu": capacity}, "queues": [{"name": "a"}, {"name": "b"}],
        "shares": {"a": {"gpu": asked}, "b": {"gpu": share}}, "running": running,
        "pending": pending("a", &gpus(&[asked]), json!({})),
    })
}

/// The same plan when the order of the input is reversed.
fn in_any_order(case: &Value) -> Vec<String> {
    let case = Case::new(case);
    let mut turned = case.clone();
    turned.running.reverse();
    turned.queues.reverse();
    let plan = case.plan();
    assert_eq!((plan.verdict, &plan.victims), (ReclaimVerdict::Reclaim, &turned.plan().victims), "{plan:#?}");
    kernels(&plan).into_iter().map(ToOwned::to_owned).collect()
}

/// The newest workloads would use up what b holds above its share, and the larger one would stay.
#[test]
fn a_large_one_instead_of_a_small_one() {
    let big = workload("big", "b", 1, &gpus(&[3]), json!({}));
    let small = workload("small", "b", 5, &gpus(&[1]), json!({}));
    assert_eq!(in_any_order(&from_b(4, 3, &[big.clone(), small.clone()], 3)), ["big/0"]);
    // Both, the larger one last: with it b ends below its share.
    assert_eq!(in_any_order(&from_b(4, 2, &[big.clone(), small.clone()], 4)), ["small/0", "big/0"]);
    assert_eq!(plan_of(&from_b(4, 3, &[big, small], 4)).verdict, ReclaimVerdict::Refused);
}

/// Two of the newer workloads, then the oldest: in their order the last one would not be allowed any more.
#[test]
fn whoever_may_go_last_goes_last() {
    let running = [
        workload("large", "b", 3, &gpus(&[4]), json!({})),
        workload("one", "b", 2, &gpus(&[1]), json!({})),
        workload("two", "b", 1, &gpus(&[2]), json!({})),
    ];
    let case = from_b(7, 4, &running, 6);
    let plan = plan_of(&case);
    assert_eq!(plan.verdict, ReclaimVerdict::Reclaim, "{plan:#?}");
    assert_eq!(in_any_order(&case), ["two/0", "large/0"]);
}

/// The surplus may stay when the core is evicted, because it is enough for the gang; in the usual order it would be evicted
/// first.
#[test]
fn a_core_without_its_surplus() {
    let gang = workload("gang", "b", 1, &gpus(&[3, 1]), json!({"gang_min": 1}));
    assert_eq!(in_any_order(&from_b(4, 3, &[gang], 3)), ["gang/0"]);
}

/// Saturation forbids to take from b before the reclaimer's own department has lost something.
#[test]
fn inside_first() {
    let mut case = json!({
        "capacity": {"gpu": 8, "cpu": 2},
        "queues": [{"name": "d"}, {"name": "a", "parent": "d"}, {"name": "c", "parent": "d"}, {"name": "b"}],
        "shares": {"d": {"gpu": 4, "cpu": 2}, "a": {"gpu": 4, "cpu": 2}, "c": {"gpu": 0}, "b": {"gpu": 3}},
        "running": [workload("inner", "c", 1, &gpus(&[4]), json!({})), workload("outer", "b", 2, &gpus(&[4]), json!({}))],
        "pending": pending("a", &gpus(&[2]), json!({})),
        "agents": [{"agent_id": "n0", "available_slots": {"gpu": 4}}, {"agent_id": "n1", "available_slots": {"gpu": 4, "cpu": 2}}],
    });
    merge(&mut case["running"][0]["members"][0], json!({"agent_id": "n0"}));
    merge(&mut case["running"][1]["members"][0], json!({"agent_id": "n1"}));
    // Room is needed on n1, which only b has; d would stand at 6/4 of its share, above b's 0/3.
    case["pending"]["members"][0]["slots"]["cpu"] = json!(1);
    assert_eq!(in_any_order(&case), ["outer/0", "inner/0"]);
    case["running"][0]["preemptible"] = json!(false);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
}

/// The larger kind of member would take the only node that the other kind can use.
#[test]
fn members_of_two_kinds() {
    let mut case = json!({
        "capacity": {"gpu": 4, "cpu": 3}, "queues": [{"name": "a"}], "shares": {"a": {"gpu": 9, "cpu": 9}}, "running": [],
        "agents": [{"agent_id": "n0", "available_slots": {"gpu": 2, "cpu": 1}}, {"agent_id": "n1", "available_slots": {"gpu": 2, "cpu": 2}}],
        "pending": pending("a", &[json!({"gpu": 2}), json!({"cpu": 1, "gpu": 1}), json!({"cpu": 1, "gpu": 1})], json!({})),
    });
    let plan = plan_of(&case);
    assert_eq!(plan.verdict, ReclaimVerdict::Fits);
    let at: Vec<&str> = plan.placement.iter().flatten().map(|p| &*p.agent_id).collect();
    assert_eq!(at, ["n0", "n1", "n1"]);
    // The same with a workload that could be evicted: none is.
    case["queues"] = json!([{"name": "a"}, {"name": "b"}]);
    case["capacity"]["gpu"] = json!(5);
    case["agents"][0]["available_slots"]["gpu"] = json!(3);
    let mut one = workload("w", "b", 0, &gpus(&[1]), json!({}));
    one["members"][0]["agent_id"] = json!("n0");
    case["running"] = json!([one]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
}

/// Each of two queues may lose five of a hundred, on two hundred agents: eleven are refused without trying which ten.
#[test]
fn more_than_all_may_lose() {
    let queue = |n: usize| if n.is_multiple_of(2) { "b" } else { "c" };
    let mut running: Vec<Value> =
        (0..200).map(|n| workload(&format!("w{n:03}"), queue(n), n, &gpus(&[1]), json!({}))).collect();
    for (n, one) in running.iter_mut().enumerate() {
        one["members"][0]["agent_id"] = json!(format!("n{n}"));
    }
    let agents: Vec<Value> =
        (0..200).map(|n| json!({"agent_id": format!("n{n}"), "available_slots": {"gpu": 1}})).collect();
    let mut case = json!({
        "capacity": {"gpu": 200}, "queues": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "agents": agents,
        "shares": {"a": {"gpu": 11}, "b": {"gpu": 95}, "c": {"gpu": 95}}, "running": running,
        "pending": pending("a", &gpus(&[1; 10]), json!({})),
    });
    assert_eq!(plan_of(&case).victims.len(), 10);
    case["pending"] = pending("a", &gpus(&[1; 11]), json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    // The same where what they end with forbids it: top would stand at 21/11 = 1.909, b with 5 less at 95/49.8 = 1.908.
    case["queues"] = json!([{"name": "top"}, {"name": "a", "parent": "top"}, {"name": "b"}, {"name": "c"}]);
    case["queues"][0]["allocated"] = json!({"gpu": 10});
    case["shares"] = json!({"top": {"gpu": 11}, "a": {"gpu": 30}, "b": {"gpu": "49.8"}, "c": {"gpu": "49.8"}});
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
}

/// With two dozen sizes it takes long to find out whether some come close enough to the amount that b may lose. Such a
/// search is not refused.
#[test]
fn exhausted_is_not_refused() {
    let sizes: Vec<u32> = (0..24).map(|n| 1000 + 2 * n * n).collect();
    let running: Vec<Value> = sizes
        .iter()
        .enumerate()
        .map(|(n, size)| workload(&format!("w{n:02}"), &format!("q{n:02}"), n, &gpus(&[*size]), json!({})))
        .collect();
    let names = (0..sizes.len()).map(|n| json!({"name": format!("q{n:02}"), "parent": "b"}));
    let queues: Vec<Value> = [json!({"name": "a"}), json!({"name": "b"})].into_iter().chain(names).collect();
    let all: u32 = sizes.iter().sum();
    // b may lose until it holds its share; the last one to go may be larger.
    let case = json!({
        "capacity": {"gpu": all}, "queues": queues, "shares": {"a": {"gpu": all}, "b": {"gpu": all - 12_001}},
        "running": running, "pending": pending("a", &gpus(&[14_058]), json!({})),
        "options": {"search_budget_ms": 5},
    });
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::SearchExhausted);
}

/// The smaller of two evicted workloads could come back by its quota: `a` has far more than its quota.
#[test]
fn nobody_may_take_back_a_part() {
    let plan = |quota: u32| {
        let big = workload("big", "b", 0, &[json!({"gpu": 8})], json!({}));
        plan_of(&json!({
            "capacity": {"gpu": 10}, "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": quota}}],
            "shares": {"a": {"gpu": 9}, "b": {"gpu": 8}}, "running": ([singles("b", 2), vec![big]].concat()),
            "pending": pending("a", &[json!({"gpu": 9})], json!({})),
        }))
    };
    // Without its two workloads `b` holds 1 and would hold 2.
    assert_eq!(plan(1).verdict, ReclaimVerdict::Reclaim);
    assert_eq!(plan(2).verdict, ReclaimVerdict::Refused);
}
