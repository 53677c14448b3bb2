//! The order of victims, hierarchy, limits and quotas under the default policy.

use fairshared::domain::reclaim::{ReclaimRule, ReclaimVerdict};
use serde_json::json;

use super::support::{assert_refused, figures, gpu, kernels, merge, pending, plan_of, singles, victims, workload};

#[test]
fn what_fits_takes_nobody() {
    let plan = plan_of(&json!({
        "capacity": {"gpu": 4}, "queues": [{"name": "a"}, {"name": "b"}], "running": singles("b", 3),
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    }));
    assert_eq!(plan.verdict, ReclaimVerdict::Fits);
    assert!(plan.victims.is_empty() && plan.refusals.is_empty());
    assert_eq!(gpu(&figures(&plan.before, "a").allocated), "0");
    assert_eq!(gpu(&figures(&plan.after, "a").allocated), "1");
}

/// The fullest queue loses first, and the queues are compared again after each victim.
#[test]
fn queues_lose_in_turn() {
    let plan = plan_of(&json!({
        "capacity": {"gpu": 12}, "queues": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "shares": {"a": {"gpu": 4}, "b": {"gpu": 4}, "c": {"gpu": 4}},
        "running": ([singles("b", 7), singles("c", 5)].concat()),
        "pending": pending("a", &[json!({"gpu": 4})], json!({})),
    }));
    // b 7 -> 6 -> 5; then b and c tie at 5/4 and the younger name goes; c 5 -> 4, b 5 -> 4.
    assert_eq!(victims(&plan).iter().map(|v| v.0).collect::<Vec<_>>(), ["b-6", "b-5", "c-4", "b-4"]);
}

#[test]
fn lower_queue_priority_loses_first() {
    let plan = plan_of(&json!({
        "capacity": {"gpu": 10}, "queues": [{"name": "a"}, {"name": "b", "priority": 1}, {"name": "c"}],
        "shares": {"a": {"gpu": 4}, "b": {"gpu": 2}, "c": {"gpu": 3}},
        "running": ([singles("b", 6), singles("c", 4)].concat()),
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    }));
    assert_eq!(victims(&plan), [("c-3", "fair_share")]);
}

/// In a queue: lowest priority, then newest, then the larger id.
#[test]
fn workloads_lose_in_reverse() {
    let one = [json!({"gpu": 1})];
    let plan = plan_of(&json!({
        "capacity": {"gpu": 5}, "queues": [{"name": "a"}, {"name": "b"}], "shares": {"a": {"gpu": 4}, "b": {"gpu": 0}},
        "running": [
            workload("old-high", "b", 1, &one, json!({"priority": 9})), workload("old-low", "b", 1, &one, json!({})),
            workload("new-low", "b", 5, &one, json!({})), workload("new-low-2", "b", 5, &one, json!({})),
            workload("new-high", "b", 5, &one, json!({"priority": 9})),
        ],
        "pending": pending("a", &[json!({"gpu": 4})], json!({})),
    }));
    assert_eq!(kernels(&plan), ["new-low-2/0", "new-low/0", "old-low/0", "new-high/0"]);
}

/// Two small victims come first, then one that is enough alone: only that one is evicted.
#[test]
fn nobody_goes_in_vain() {
    let plan = plan_of(&json!({
        "capacity": {"gpu": 6}, "queues": [{"name": "a"}, {"name": "b"}], "shares": {"a": {"gpu": 4}, "b": {"gpu": 0}},
        "running": [workload("big", "b", 1, &[json!({"gpu": 4})], json!({})), singles("b", 2)[0], singles("b", 2)[1]],
        "pending": pending("a", &[json!({"gpu": 4})], json!({})),
    }));
    assert_eq!(kernels(&plan), ["big/0"]);
    assert_eq!(plan.disruption_ratio.to_string(), "1");
}

/// Queues are compared just below their lowest common ancestor: c is above its share, its department is not.
#[test]
fn comparison_below_the_common_ancestor() {
    let mut case = json!({
        "capacity": {"gpu": 10},
        "queues": [{"name": "d1"}, {"name": "d2"}, {"name": "a", "parent": "d1"}, {"name": "c", "parent": "d2"},
                   {"name": "e", "parent": "d2"}],
        "shares": {"d1": {"gpu": 5}, "a": {"gpu": 5}, "d2": {"gpu": 10}, "c": {"gpu": 2}, "e": {"gpu": 8}},
        "running": singles("c", 10),
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    });
    let plan = plan_of(&case);
    assert_refused(&plan, Some("c-9"), ReclaimRule::Strategy);
    assert_eq!(plan.refusals[1].level.as_deref(), Some("d2"));
    assert_eq!(plan.refusals[1].victim_ratio.as_deref(), Some("1"));
    // A sibling inside the department compares the projects themselves.
    case["pending"] = pending("e", &[json!({"gpu": 1})], json!({}));
    assert_eq!(victims(&plan_of(&case)), [("c-9", "fair_share")]);
}

/// A workload over a limit is refused even where there is room, unless victims under the same ancestor free the same amount.
#[test]
fn limits_hold_at_every_ancestor() {
    let mut case = json!({
        "capacity": {"gpu": 20},
        "queues": [{"name": "d", "limit": {"gpu": 4}}, {"name": "a", "parent": "d"}, {"name": "b", "parent": "d"},
                   {"name": "x"}],
        "shares": {"d": {"gpu": 4}, "a": {"gpu": 2}, "b": {"gpu": 2}, "x": {"gpu": 1}},
        "running": ([singles("b", 4), singles("x", 3)].concat()),
        "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    });
    let plan = plan_of(&case);
    assert_eq!((plan.verdict, victims(&plan)), (ReclaimVerdict::Reclaim, vec![("b-3", "fair_share")]));
    case["shares"]["b"]["gpu"] = json!(4);
    let plan = plan_of(&case);
    assert_refused(&plan, None, ReclaimRule::Limit);
    assert_eq!(plan.refusals[0].level.as_deref(), Some("d"));
    assert_eq!(plan.refusals[0].reclaimer_ratio.as_deref(), Some("1.25"));
    case["pending"] = pending("a", &[json!({"gpu": 5})], json!({}));
    assert_refused(&plan_of(&case), None, ReclaimRule::Limit);
}

/// A non-preemptible workload stays within the quota at every level, on the slots that it asks for.
#[test]
fn non_preemptible_stays_in_quota() {
    let mut case = json!({
        "capacity": {"gpu": 8, "cpu": 8},
        "queues": [{"name": "d", "quota": {"gpu": 3}}, {"name": "a", "parent": "d", "quota": {"gpu": 4}}],
        "running": [workload("w", "a", 0, &[json!({"gpu": 2, "cpu": 1})], json!({"preemptible": false}))],
        "pending": pending("a", &[json!({"gpu": 1})], json!({"preemptible": false})),
    });
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
    case["pending"] = pending("a", &[json!({"gpu": 2})], json!({"preemptible": false}));
    let plan = plan_of(&case);
    assert_refused(&plan, None, ReclaimRule::GateQuota);
    assert_eq!(plan.refusals[0].level.as_deref(), Some("d"));
    assert_eq!(plan.refusals[0].reclaimer_ratio.as_deref(), Some("1.333333333334"));
    case["pending"]["preemptible"] = json!(true);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Fits);
}

/// Preemption is tried when reclaim has found nothing; the gate does not apply to it, but limits do.
#[test]
fn preemption_inside_the_queue() {
    let one = [json!({"gpu": 1})];
    let mut case = json!({
        "capacity": {"gpu": 3}, "queues": [{"name": "a"}, {"name": "b"}],
        "shares": {"a": {"gpu": 1}, "b": {"gpu": 1}},
        "running": [
            workload("low", "a", 1, &one, json!({"priority": 1})), workload("equal", "a", 2, &one, json!({"priority": 5})),
            workload("other", "b", 3, &one, json!({})),
        ],
        "pending": pending("a", &one, json!({"priority": 5})),
    });
    let plan = plan_of(&case);
    assert_eq!((plan.verdict, victims(&plan)), (ReclaimVerdict::Preempt, vec![("low", "priority")]));
    assert_eq!(plan.refusals.len(), 1);
    assert_eq!(plan.refusals[0].rule, ReclaimRule::GateFairShare);
    case["running"][0]["preemptible"] = json!(false);
    assert_refused(&plan_of(&case), Some("low"), ReclaimRule::NonPreemptible);
    merge(&mut case["running"][0], json!({"preemptible": true}));
    case["queues"][0]["limit"] = json!({"gpu": 1});
    // Two run where one may: one victim is not enough, and the second is of equal priority.
    assert_refused(&plan_of(&case), Some("low"), ReclaimRule::Limit);
}
