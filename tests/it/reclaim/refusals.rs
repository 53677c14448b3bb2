//! Every rule of refusal (DIVISION §6.8), with the figures in its message.

use fairshared::domain::reclaim::{EvictionRefusal, ReclaimRule, ReclaimVerdict};
use serde_json::{Value, json};

use super::support::{assert_refused, merge, pending, plan_of, singles, victims, workload};

/// Queue b holds both gpus and is over its share; a asks for one.
fn base() -> Value {
    json!({
        "capacity": {"gpu": 2}, "queues": [{"name": "a"}, {"name": "b"}],
        "shares": {"a": {"gpu": 1}, "b": {"gpu": 1}},
        "running": singles("b", 2), "pending": pending("a", &[json!({"gpu": 1})], json!({})),
    })
}

fn with(change: impl Fn(&mut Value)) -> Vec<EvictionRefusal> {
    let mut case = base();
    change(&mut case);
    let plan = plan_of(&case);
    assert_eq!(plan.verdict, ReclaimVerdict::Refused, "{plan:#?}");
    plan.refusals
}

fn both(case: &mut Value, more: &Value) {
    case["running"].as_array_mut().unwrap().iter_mut().for_each(|w| merge(w, more.clone()));
}

#[test]
fn base_is_allowed() {
    assert_eq!(plan_of(&base()).verdict, ReclaimVerdict::Reclaim);
}

#[test]
fn protections() {
    let rules = |refusals: &[EvictionRefusal]| refusals.iter().map(|r| r.rule).collect::<Vec<_>>();
    let refusals = with(|c| both(c, &json!({"preemptible": false})));
    assert_eq!(rules(&refusals), [ReclaimRule::Placement, ReclaimRule::NonPreemptible, ReclaimRule::NonPreemptible]);
    assert_eq!(refusals[1].workload_id.as_deref(), Some("b-0"));
    let refusals = with(|c| both(c, &json!({"critical": true})));
    assert_eq!(rules(&refusals), [ReclaimRule::Placement, ReclaimRule::Critical, ReclaimRule::Critical]);
    let refusals = with(|c| c["queues"][1]["reclaimable"] = json!(false));
    assert_eq!(rules(&refusals), [ReclaimRule::Placement, ReclaimRule::NotReclaimable, ReclaimRule::NotReclaimable]);
    assert_eq!(refusals[1].level.as_deref(), Some("b"));
}

/// All queues on the victim's side must be reclaimable; the queues that both sides share do not matter.
#[test]
fn reclaimable_on_the_victims_side() {
    let mut case = base();
    case["queues"] = json!([{"name": "top"}, {"name": "d", "parent": "top"}, {"name": "a", "parent": "top"},
                            {"name": "b", "parent": "d"}]);
    case["shares"] = json!({"top": {"gpu": 2}, "d": {"gpu": 1}, "a": {"gpu": 1}, "b": {"gpu": 1}});
    case["queues"][0]["reclaimable"] = json!(false);
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    case["queues"][1]["reclaimable"] = json!(false);
    let plan = plan_of(&case);
    assert_refused(&plan, Some("b-0"), ReclaimRule::NotReclaimable);
    assert_eq!(plan.refusals[1].level.as_deref(), Some("d"));
}

/// The gate applies to every slot, also to one that is not requested.
#[test]
fn gate() {
    let refusals = with(|c| c["shares"]["a"]["gpu"] = json!("0.75"));
    assert_eq!(refusals.len(), 1);
    let EvictionRefusal { rule, level, slot, reclaimer_ratio, workload_id, .. } = &refusals[0];
    assert_eq!((*rule, *slot, workload_id.is_none()), (ReclaimRule::GateFairShare, Some("gpu"), true));
    assert_eq!((level.as_deref(), reclaimer_ratio.as_deref()), (Some("a"), Some("1.333333333334")));
    let refusals = with(|c| {
        c["capacity"]["cpu"] = json!(9);
        c["queues"][0]["allocated"] = json!({"cpu": 3});
        c["shares"]["a"]["cpu"] = json!(2);
    });
    assert_eq!((refusals[0].rule, refusals[0].slot), (ReclaimRule::GateFairShare, Some("cpu")));
}

#[test]
fn strategy_shows_both_ratios() {
    let refusals = with(|c| c["shares"]["b"]["gpu"] = json!(2));
    let of = |r: &EvictionRefusal| (r.rule, r.slot, r.reclaimer_ratio.clone(), r.victim_ratio.clone());
    // b holds 2 of 2; a would hold 1 with a quota of 0.
    assert_eq!(of(&refusals[1]), (ReclaimRule::Strategy, Some("gpu"), Some("inf".into()), Some("1".into())));
    // In quota itself, but so is b: 2 of its quota of 3.
    let refusals = with(|c| {
        c["queues"] = json!([{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 3}}]);
    });
    assert_eq!(
        of(&refusals[1]),
        (ReclaimRule::Strategy, Some("gpu"), Some("0.5".into()), Some("0.666666666666".into()))
    );
}

/// A strategy that is left out allows nothing, whatever the figures.
#[test]
fn strategies_left_out() {
    let of = |r: &EvictionRefusal| (r.rule, r.reclaimer_ratio.clone(), r.victim_ratio.clone());
    let refusals = with(|c| c["options"] = json!({"strategies": ["quota"]}));
    // b is above its quota of 0, but so would a be.
    assert_eq!(of(&refusals[1]), (ReclaimRule::Strategy, Some("inf".into()), Some("inf".into())));
    let refusals = with(|c| {
        c["options"] = json!({"strategies": ["fair_share"]});
        c["queues"][0]["quota"] = json!({"gpu": 1});
        c["shares"]["b"] = json!({"gpu": 2});
    });
    // a stays in quota, which does not count; b is within its share.
    assert_eq!(of(&refusals[1]), (ReclaimRule::Strategy, Some("1".into()), Some("1".into())));
}

/// A queue within its quota on every slot loses nothing; a quota above the limit counts as the limit.
#[test]
fn in_quota_keeps_what_it_has() {
    let quota = |c: &mut Value, quota: &Value| c["queues"][1]["quota"] = json!({"gpu": quota});
    let refusals = with(|c| quota(c, &json!(2)));
    let of = |r: &EvictionRefusal| (r.rule, r.reclaimer_ratio.clone(), r.victim_ratio.clone());
    assert_eq!(of(&refusals[1]), (ReclaimRule::Strategy, Some("inf".into()), Some("1".into())));
    assert_eq!(with(|c| quota(c, &json!("unlimited")))[1].rule, ReclaimRule::Strategy);
    let reclaimed = |of_b: &Value, limit: &Value| {
        let mut case = base();
        quota(&mut case, of_b);
        case["queues"][1]["limit"] = limit.clone();
        assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim, "{of_b} {limit}");
    };
    reclaimed(&json!("1.999999999999"), &json!({}));
    reclaimed(&json!(2), &json!({"gpu": 1}));
    reclaimed(&json!("unlimited"), &json!({"gpu": 1}));
}

/// Queues within their quotas lose nothing, whatever the queues above them hold: (quota of the department, of c, of e) while
/// c holds 4 and e 3 of 7, and the refusal for each level with its part of the quota.
#[test]
fn quotas_below_the_victims_side() {
    let unlimited = || json!("unlimited");
    let table = [
        // c was promised nothing: the department's newest workloads go, of c while it is the fuller queue.
        (json!(3), json!(0), json!(0), None),
        // Quotas of 4 and 3 that the department's quota of 3 does not cover: both keep all.
        (json!(3), json!(4), json!(3), Some(("c", "1", "e", "1"))),
        // The department has no quota.
        (json!(0), json!(4), json!(5), Some(("c", "1", "e", "0.6"))),
        (json!(0), unlimited(), unlimited(), Some(("c", "0", "e", "0"))),
        // The department itself keeps all.
        (json!(7), json!(0), json!(0), Some(("d", "1", "d", "1"))),
        (unlimited(), json!(0), json!(0), Some(("d", "0", "d", "0"))),
        // c is one above its quota, e in quota.
        (json!(3), json!(3), json!(3), None),
    ];
    for (department, c, e, refused) in table {
        let case = json!({
            "capacity": {"gpu": 7},
            "queues": [{"name": "a"}, {"name": "d", "quota": {"gpu": department}},
                       {"name": "c", "parent": "d", "quota": {"gpu": c}}, {"name": "e", "parent": "d", "quota": {"gpu": e}}],
            "shares": {"a": {"gpu": 1}, "d": {"gpu": 6}, "c": {"gpu": 3}, "e": {"gpu": 3}},
            "running": ([singles("c", 4), singles("e", 3)].concat()),
            "pending": pending("a", &[json!({"gpu": 1})], json!({})),
        });
        let plan = plan_of(&case);
        let Some((keeper_of_c, ratio_of_c, keeper_of_e, ratio_of_e)) = refused else {
            assert_eq!(victims(&plan), [("c-3", "fair_share")], "{case}");
            continue;
        };
        let of = |workload: &str| {
            let line = plan.refusals.iter().find(|r| r.workload_id.as_deref() == Some(workload)).unwrap();
            (line.rule, line.level.clone().unwrap(), line.victim_ratio.clone().unwrap())
        };
        assert_eq!(of("c-3"), (ReclaimRule::Strategy, keeper_of_c.into(), ratio_of_c.into()), "{case}");
        assert_eq!(of("e-2"), (ReclaimRule::Strategy, keeper_of_e.into(), ratio_of_e.into()), "{case}");
    }
}

/// Each unit is checked before its eviction, so a queue may end below its quota by one unit, and then nothing more is
/// evicted.
#[test]
fn in_quota_after_the_first_victim() {
    let mut case = base();
    case["queues"] = json!([{"name": "a"}, {"name": "d"}, {"name": "b", "parent": "d", "quota": {"gpu": 1}}]);
    case["shares"] = json!({"a": {"gpu": 2}, "d": {"gpu": 0}, "b": {"gpu": 0}});
    assert_eq!(victims(&plan_of(&case)), [("b-1", "fair_share")]);
    case["pending"] = pending("a", &[json!({"gpu": 2})], json!({}));
    let plan = plan_of(&case);
    assert_refused(&plan, Some("b-0"), ReclaimRule::Strategy);
    let line = plan.refusals.iter().find(|r| r.workload_id.as_deref() == Some("b-0")).unwrap();
    assert_eq!((line.level.as_deref(), line.victim_ratio.as_deref()), (Some("b"), Some("1")));
    // A gang goes as a whole, also below the quota.
    case["running"] = json!([workload("gang", "b", 0, &[json!({"gpu": 1}), json!({"gpu": 1})], json!({}))]);
    assert_eq!(victims(&plan_of(&case)), [("gang", "fair_share")]);
    case["queues"][2]["quota"]["gpu"] = json!(2);
    assert_refused(&plan_of(&case), Some("gang"), ReclaimRule::Strategy);
    // Preemption inside the queue asks for no quota.
    case["pending"] = pending("b", &[json!({"gpu": 2})], json!({"priority": 1}));
    assert_eq!(victims(&plan_of(&case)), [("gang", "priority")]);
}

#[test]
fn saturation_shows_both_ratios() {
    let refusals = with(|c| {
        c["queues"] = json!([{"name": "d"}, {"name": "a", "parent": "d"}, {"name": "b"}]);
        c["shares"] = json!({"d": {"gpu": 1}, "a": {"gpu": 3}, "b": {"gpu": 1}});
        c["queues"][0]["allocated"] = json!({"gpu": "0.3"});
        c["capacity"]["gpu"] = json!("2.3");
    });
    let of = |r: &EvictionRefusal| (r.rule, r.level.clone(), r.reclaimer_ratio.clone(), r.victim_ratio.clone());
    assert_eq!(of(&refusals[1]), (ReclaimRule::Saturation, Some("b".into()), Some("1.3".into()), Some("1".into())));
}

/// Siblings without a fair share, and siblings that lost nothing, do not count for saturation.
#[test]
fn saturation_looks_at_losers_with_a_share() {
    let mut case = base();
    case["queues"] = json!([{"name": "d"}, {"name": "a", "parent": "d"}, {"name": "b"}, {"name": "c"}]);
    case["shares"] = json!({"d": {"gpu": "0.5"}, "a": {"gpu": 3}, "b": {"gpu": 0}, "c": {"gpu": 9}});
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
    case["shares"]["b"]["gpu"] = json!("0.6");
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Refused);
    case["shares"]["b"]["gpu"] = json!("0.4");
    assert_eq!(plan_of(&case).verdict, ReclaimVerdict::Reclaim);
}

#[test]
fn placement_without_enough_room() {
    let refusals = with(|c| {
        c["shares"]["a"]["gpu"] = json!(3);
        c["pending"] = pending("a", &[json!({"gpu": 3})], json!({}));
    });
    assert_eq!((refusals[0].rule, refusals[0].workload_id.is_none()), (ReclaimRule::Placement, true));
    // One of b's two may go: 3 are asked for, 1 is to be had.
    assert_eq!(refusals[0].reclaimer_ratio.as_deref(), Some("3"));
    assert_eq!(
        refusals.iter().map(|r| r.rule).collect::<Vec<_>>(),
        [ReclaimRule::Placement, ReclaimRule::Strategy, ReclaimRule::Placement]
    );
}

#[test]
fn nobody_to_take_from() {
    let refusals = with(|c| {
        c["running"] = json!([]);
        c["capacity"]["gpu"] = json!("0.5");
    });
    assert_eq!(refusals.iter().map(|r| r.rule).collect::<Vec<_>>(), [ReclaimRule::NoCandidate]);
}
