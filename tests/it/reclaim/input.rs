//! Bad input is refused by its key; odd input has a defined result.

use fairshared::domain::reclaim::{PendingGang, ReclaimOptions, ReclaimVerdict, RunningWorkload};
use serde_json::{Value, json};

use super::support::{Case, pending, plan_of, singles, workload};

fn base() -> Value {
    json!({
        "capacity": {"gpu": 2}, "queues": [{"name": "a"}, {"name": "b"}], "running": singles("b", 2),
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    })
}

#[test]
fn faults_have_a_place() {
    let fault = |change: &dyn Fn(&mut Value)| {
        let mut case = base();
        change(&mut case);
        let faults = Case::new(&case).try_plan().unwrap_err();
        (faults[0].pointer.clone(), faults[0].code)
    };
    let expect = |pointer: &str, code| (pointer.to_owned(), code);
    assert_eq!(fault(&|c| c["running"][1]["queue"] = json!("x")), expect("/running/1/queue", "unknown_queue"));
    assert_eq!(fault(&|c| c["pending"]["queue"] = json!("x")), expect("/pending/queue", "unknown_queue"));
    assert_eq!(fault(&|c| c["pending"]["members"] = json!([])), expect("/pending/members", "empty"));
    assert_eq!(fault(&|c| c["pending"]["gang_min"] = json!(2)), expect("/pending/gang_min", "out_of_range"));
    assert_eq!(fault(&|c| c["pending"]["gang_min"] = json!(0)), expect("/pending/gang_min", "out_of_range"));
    let tiers = json!({"policy": "plugins", "tiers": [["gang"], ["drf", "magic"]]});
    assert_eq!(fault(&|c| c["options"] = tiers.clone()), expect("/options/tiers/1/1", "unknown_plugin"));
}

#[test]
fn unknown_keys_are_refused() {
    assert!(serde_json::from_value::<ReclaimOptions>(json!({"policy": "chance"})).is_err());
    assert!(serde_json::from_value::<ReclaimOptions>(json!({"tier": []})).is_err());
    // The output can be read back, key by key.
    let shown = serde_json::to_value(ReclaimOptions::default()).unwrap();
    assert_eq!(serde_json::from_value::<ReclaimOptions>(shown).unwrap(), ReclaimOptions::default());
    assert!(serde_json::from_value::<RunningWorkload>(workload("w", "b", 0, &[], json!({"colour": 1}))).is_err());
    assert!(serde_json::from_value::<PendingGang>(pending("a", &[], json!({"started_at": null}))).is_err());
}

#[test]
fn odd_input_has_a_defined_result() {
    let mut case = base();
    case["pending"] = pending("a", &[json!({})], json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
    case["pending"] = pending("a", &[json!({"npu": 1})], json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    case["pending"] = pending("a", &[json!({"gpu": "1000000000000000000000"})], json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    case["capacity"] = json!({});
    case["pending"] = pending("a", &[json!({"gpu": 1})], json!({}));
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    case["running"] = json!([workload("empty", "b", 0, &[], json!({"gang_min": 0}))]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    case["queues"] = json!([{"name": "a"}]);
    case["running"] = json!([]);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    let slotless = json!({"capacity": {}, "queues": [{"name": "a"}], "running": [], "agents": [],
                          "pending": pending("a", &[json!({})], json!({}))});
    assert_eq!(plan_of(&slotless).verdict, ReclaimVerdict::Refused);
}

/// The figures that a queue gives override the sums of its workloads, also in its ancestors.
#[test]
fn given_figures_win() {
    let case = Case::new(&json!({
        "capacity": {"gpu": 10, "cpu": 4},
        "queues": [{"name": "top"}, {"name": "a", "parent": "top"},
                   {"name": "b", "parent": "top", "allocated": {"gpu": 5}, "request": {"gpu": 3}}],
        "running": [workload("w", "b", 0, &[json!({"gpu": 2, "cpu": 1})], json!({"preemptible": false})),
                    workload("v", "top", 0, &[json!({"gpu": 1})], json!({}))],
        "pending": pending("a", &[json!({"gpu": 2})], json!({})),
    }));
    let tree = case.tree();
    let row = |name: &str| {
        let at = tree.find(name).unwrap();
        [&tree.request, &tree.allocated, &tree.allocated_non_preemptible]
            .map(|grid| grid.row(at).iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    // Columns: cpu, gpu.
    assert_eq!(row("a"), ["0 2", "0 0", "0 0"]);
    // A request that is given stands, also below what is held.
    assert_eq!(row("b"), ["1 3", "1 5", "1 2"]);
    assert_eq!(row("top"), ["1 6", "1 6", "1 2"]);
    assert_eq!(tree.raised.len(), 1);
}

/// The budget ends a search in the same way on every machine, and the plan says so.
#[test]
fn budget_ends_a_search() {
    let mut case = base();
    case["options"] = json!({"search_budget_ms": 0});
    let plan = plan_of(&case);
    assert_eq!(plan.verdict, ReclaimVerdict::SearchExhausted);
    assert!(plan.victims.is_empty() && plan.refusals.is_empty());
    case["pending"]["queue"] = json!("b");
    case["capacity"]["gpu"] = json!(3);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
}

#[test]
fn plans_are_deterministic() {
    let case = Case::new(&base());
    assert_eq!(case.plan(), case.plan());
    let mut shuffled = case.clone();
    shuffled.running.reverse();
    shuffled.queues.reverse();
    assert_eq!(case.plan().victims, shuffled.plan().victims);
}
