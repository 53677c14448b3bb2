//! The worked examples of the sources.

use fairshared::domain::reclaim::ReclaimVerdict;
use serde_json::{Value, json};

use super::support::{Case, figures, gpu, merge, pending, plan_of, singles, victims};

/// kube-batch: two queues use the whole cluster; a third is created, and nothing happens until it has a job.
#[test]
fn third_queue_reclaims_from_both() {
    for policy in ["plugins", "strategies"] {
        let case = json!({
            "capacity": {"gpu": 12}, "algorithm": "proportion", "options": {"policy": policy},
            "queues": [{"name": "q1"}, {"name": "q2"}, {"name": "q3"}],
            "running": ([singles("q1", 6), singles("q2", 6)].concat()),
            "pending": pending("q3", &[json!({"gpu": 4})], json!({})),
        });
        let plan = plan_of(&case);
        assert_eq!(plan.verdict, ReclaimVerdict::Reclaim, "{plan:#?}");
        let from = |queue: &str| plan.victims.iter().filter(|v| &*v.queue == queue).count();
        assert_eq!((from("q1"), from("q2")), (2, 2), "{policy}");
        for queue in ["q1", "q2", "q3"] {
            assert_eq!(gpu(&figures(&plan.after, queue).allocated), "4");
            assert_eq!(gpu(&figures(&plan.after, queue).fair_share), "4");
        }
    }
}

/// KAI, strategy 1: below its fair share, from a queue above it.
#[test]
fn below_fair_share_takes_from_above_fair_share() {
    let plan = plan_of(&json!({
        "capacity": {"gpu": 8}, "queues": [{"name": "a"}, {"name": "b"}], "running": singles("b", 8),
        "pending": pending("a", &[json!({"gpu": 2})], json!({})),
    }));
    assert_eq!(plan.verdict, ReclaimVerdict::Reclaim);
    assert_eq!(victims(&plan), [("b-7", "fair_share"), ("b-6", "fair_share")]);
    assert_eq!(plan.victims[0].slot, Some("gpu"));
    assert_eq!(&*plan.victims[0].level, "b");
    assert_eq!(plan.disruption_ratio.to_string(), "1");
    assert!(plan.refusals.is_empty() && plan.placement.is_none());
}

/// KAI, strategy 2: under its quota, from a queue over its quota though not over its fair share.
#[test]
fn in_quota_takes_from_over_quota() {
    let case = json!({
        "capacity": {"gpu": 10},
        "queues": [{"name": "a", "quota": {"gpu": 4}}, {"name": "b", "quota": {"gpu": 4}}, {"name": "c", "quota": {"gpu": 2}}],
        "shares": {"a": {"gpu": 4}, "b": {"gpu": 8}, "c": {"gpu": 2}},
        "running": ([singles("b", 8), singles("c", 2)].concat()),
        "pending": pending("a", &[json!({"gpu": 2})], json!({})),
    });
    let plan = plan_of(&case);
    assert_eq!(victims(&plan), [("b-7", "quota"), ("b-6", "quota")]);
    let mut only_fair_share = case.clone();
    only_fair_share["options"] = json!({"strategies": ["fair_share"]});
    assert_eq!(plan_of(&only_fair_share).verdict, ReclaimVerdict::Refused);
    let mut above_quota = case;
    above_quota["pending"] = pending("a", &[json!({"gpu": 5})], json!({}));
    above_quota["shares"]["a"]["gpu"] = json!(5);
    assert_eq!(plan_of(&above_quota).verdict, ReclaimVerdict::Refused);
}

/// KAI prefers the first strategy: the queue above its fair share loses before one that is only over its quota.
#[test]
fn first_strategy_goes_first() {
    let plan = plan_of(&json!({
        "capacity": {"gpu": 12},
        "queues": [{"name": "a", "quota": {"gpu": 4}}, {"name": "b", "quota": {"gpu": 2}}, {"name": "c", "quota": {"gpu": 2}}],
        "shares": {"a": {"gpu": 4}, "b": {"gpu": 8}, "c": {"gpu": 3}},
        "running": ([singles("b", 8), singles("c", 4)].concat()),
        "pending": pending("a", &[json!({"gpu": 2})], json!({})),
    }));
    // c is above its share once; then both hold all of theirs, and who may hold more loses first.
    assert_eq!(victims(&plan), [("c-3", "fair_share"), ("b-7", "quota")]);
}

/// Departments d1 (4) and d2; `a` of d1 asks for one more while d2 holds 9.
fn departments(d2_share: u32, multiplier: &str) -> Case {
    let mut case = json!({
        "capacity": {"gpu": 13}, "options": {"reclaimer_utilization_multiplier": multiplier},
        "queues": [{"name": "d1"}, {"name": "d2"}, {"name": "a", "parent": "d1"}, {"name": "b", "parent": "d1"},
                   {"name": "c", "parent": "d2"}],
        "shares": {"d1": {"gpu": 4}, "a": {"gpu": 2}, "b": {"gpu": 3}},
        "running": ([singles("a", 1), singles("b", 3), singles("c", 9)].concat()),
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    });
    merge(&mut case["shares"], json!({"d2": {"gpu": d2_share}, "c": {"gpu": d2_share}}));
    Case::new(&case)
}

/// After the transfer d1 is at 5/4 of its share; d2 must stay above that.
#[test]
fn reclaimer_stays_below_its_siblings() {
    let plan = departments(6, "1").plan();
    assert_eq!(victims(&plan), [("c-8", "fair_share")]);
    assert_eq!(figures(&plan.after, "d1").saturation_ratio.iter().next().unwrap().1.to_string(), "1.25");
    assert_eq!(figures(&plan.after, "d2").saturation_ratio.iter().next().unwrap().1.to_string(), "1.333333333333");
    assert_eq!(&*plan.victims[0].level, "d2");
    // 8/7 is below 5/4.
    let plan = departments(7, "1").plan();
    assert_eq!(plan.verdict, ReclaimVerdict::Refused);
}

#[test]
fn equal_ratios_after_the_transfer_are_refused() {
    let mut case = departments(6, "1");
    case.running.pop();
    case.running.pop();
    case.running.push(case.running[4].clone());
    case.running[11].workload_id = "c-7".into();
    case.capacity = serde_json::from_value(json!({"gpu": 12})).unwrap();
    // d2 holds 8; 7/6 < 5/4 is refused, and so is 5/4 = 5/4.
    assert_eq!(case.plan().verdict, ReclaimVerdict::Refused);
    case.running.truncate(4 + 6);
    case.capacity = serde_json::from_value(json!({"gpu": 10})).unwrap();
    for share in case.shares.as_mut().unwrap().iter_mut().filter(|(name, _)| *name == "d2" || *name == "c") {
        *share.1 = serde_json::from_value(json!({"gpu": 4})).unwrap();
    }
    assert_eq!(case.plan().verdict, ReclaimVerdict::Refused);
}

/// reclaimerUtilizationMultiplier: "1.2" makes reclamation 20% more conservative; below 1.0 it is set to 1.0.
#[test]
fn multiplier_makes_it_harder() {
    assert_eq!(departments(6, "1.0").plan().verdict, ReclaimVerdict::Reclaim);
    // 1.25 x 1.05 = 1.3125 is still below 4/3; 1.25 x 1.2 = 1.5 is not.
    assert_eq!(departments(6, "1.05").plan().verdict, ReclaimVerdict::Reclaim);
    assert_eq!(departments(6, "1.2").plan().verdict, ReclaimVerdict::Refused);
    let plan = departments(7, "0.5").plan();
    assert_eq!(plan.verdict, ReclaimVerdict::Refused);
    assert_eq!(plan.warnings[0].code, "multiplier_raised");
    assert_eq!(departments(6, "0.5").plan().verdict, ReclaimVerdict::Reclaim);
}

/// Run:ai: a lower priority in one project reclaims from a higher one in another; within a project priority decides.
#[test]
fn priorities_count_within_a_queue_only() {
    let mut case = json!({
        "capacity": {"gpu": 4}, "queues": [{"name": "a"}, {"name": "b"}], "running": singles("b", 4),
        "pending": pending("a", &[json!({"gpu": 1})], json!({"priority": -5})),
    });
    for workload in case["running"].as_array_mut().unwrap() {
        workload["priority"] = json!(100);
    }
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    case["pending"] = pending("b", &[json!({"gpu": 1})], json!({"priority": 101}));
    let plan = plan_of(&case);
    assert_eq!((plan.verdict, victims(&plan)), (ReclaimVerdict::Preempt, vec![("b-3", "priority")]));
    case["pending"]["priority"] = json!(100);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
}

/// A queue that deserves all of its demand is not refused over the last digit of its share.
#[test]
fn a_met_request_passes_the_gate() {
    let running = |queue: &str, slots: Value| json!({"workload_id": queue, "queue": queue, "members": [{"kernel_id": queue, "slots": slots}]});
    let plan = plan_of(&json!({
        "algorithm": "drf", "capacity": {"cpu": 18, "gpu": 35},
        "queues": [
            {"name": "q0", "weight": 3}, {"name": "q1", "weight": 2},
            {"name": "q2", "request": {"cpu": 10, "gpu": 2}},
            {"name": "q3", "request": {"cpu": 8, "gpu": 9}},
            {"name": "q4", "weight": 3, "parent": "q0"},
            {"name": "q5", "weight": 3, "parent": "q1", "request": {"cpu": 7, "gpu": 3}},
            {"name": "q6", "parent": "q0", "request": {"cpu": 11, "gpu": 4}},
            {"name": "q7", "weight": 2, "request": {"cpu": 4, "gpu": 11}},
        ],
        "running": [
            running("q2", json!({"cpu": 10, "gpu": 2})), running("q3", json!({"cpu": 8, "gpu": 9})),
            running("q5", json!({"gpu": 3})), running("q6", json!({"gpu": 4})), running("q7", json!({"gpu": 11})),
        ],
        "pending": pending("q4", &[json!({"cpu": 4, "gpu": 1})], json!({})),
    }));
    assert_eq!(plan.verdict, ReclaimVerdict::Reclaim, "{plan:#?}");
    let share = figures(&plan.after, "q4").fair_share.clone();
    assert_eq!(serde_json::to_value(share).unwrap(), json!({"cpu": "4", "gpu": "1"}));
}
