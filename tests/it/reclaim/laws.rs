//! Laws over random clusters, checked with figures of their own.

use proptest::prelude::*;

use super::random::random;
use super::support::{Case, NOW};
use super::world::World;
use fairshared::domain::reclaim::{Plan, Refusal, Rule, Strategy, Verdict};
use fairshared::domain::time::Timestamp;

/// How many random clusters the laws see.
const CASES: u32 = 1_500;

fn taken(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Reclaim | Verdict::Preempt)
}

type Law = Result<(), TestCaseError>;

/// Protected, critical and non-reclaimable kernels are never victims; gangs keep their minimum or go as a whole.
fn protected_kernels_stay(case: &Case, plan: &Plan) -> Law {
    let world = World::new(case);
    for victim in &plan.victims {
        let workload = case.running.iter().find(|w| w.workload_id == victim.workload_id).unwrap();
        prop_assert!(workload.preemptible && !workload.critical);
        let queue = case.queues.iter().find(|q| q.name == *victim.queue).unwrap();
        prop_assert!(queue.reclaimable);
        let evicted: usize =
            plan.victims.iter().filter(|v| v.workload_id == victim.workload_id).map(|v| v.kernel_ids.len()).sum();
        let left = workload.members.len() - evicted;
        let core = workload.gang_min.map_or(workload.members.len(), |m| workload.members.len().min(m as usize));
        prop_assert!(left == 0 || left >= core, "{left} of {core}");
        if let Some(least) = world.min_runtime(plan, victim) {
            let now = NOW.parse::<Timestamp>().unwrap().micros();
            let young = workload.started_at.is_some_and(|s| now - s.micros() < least * 1_000_000);
            prop_assert!(!young || left >= core);
        }
        if plan.verdict == Verdict::Preempt {
            prop_assert!(victim.queue == case.pending.queue && workload.priority < case.pending.priority);
        } else {
            prop_assert!(victim.queue != case.pending.queue);
        }
    }
    Ok(())
}

/// Room and limits hold after a plan; every victim was lawful when it went; who lost stays above the reclaimer.
fn plans_hold(case: &Case, plan: &Plan) -> Law {
    if taken(plan.verdict) || plan.verdict == Verdict::Fits {
        let world = World::new(case);
        prop_assert!(world.has_room(plan, None), "room");
        prop_assert!(world.placement_holds(plan), "placement");
        prop_assert!(world.within_limits(plan, None), "limits");
        if plan.verdict == Verdict::Reclaim {
            prop_assert!(world.gate_open(), "gate");
            prop_assert!(world.strategies_hold(plan), "strategies");
            prop_assert!(world.saturation_holds(plan, None), "saturation");
        }
    }
    Ok(())
}

/// Dropping any one victim breaks the plan.
fn nobody_goes_in_vain(case: &Case, plan: &Plan) -> Law {
    let world = World::new(case);
    for unit in 0..plan.victims.len() {
        let holds = world.may_stay(plan, unit)
            && world.has_room(plan, Some(unit))
            && world.within_limits(plan, Some(unit))
            && (plan.verdict == Verdict::Preempt || world.saturation_holds(plan, Some(unit)));
        prop_assert!(!holds, "{:?} is not needed", plan.victims[unit]);
    }
    if plan.verdict == Verdict::Fits {
        prop_assert!(plan.victims.is_empty());
    }
    Ok(())
}

/// What lost something cannot take it back from the reclaimer: no ping-pong.
fn roles_are_never_swapped(case: &Case, plan: &Plan) -> Law {
    if plan.verdict == Verdict::Reclaim {
        for (back, after) in World::new(case).after(plan) {
            let again = after.plan();
            if again.verdict == Verdict::Reclaim {
                for victim in &again.victims {
                    prop_assert!(victim.queue != case.pending.queue, "{back} takes back: {plan:#?} {again:#?}");
                }
            }
        }
    }
    Ok(())
}

/// The rule that refused holds on the printed figures.
fn refusals_can_be_reproduced(case: &Case, plan: &Plan) -> Law {
    prop_assert_eq!(plan.verdict == Verdict::Refused && plan.refusals.is_empty(), false);
    let has = |strategy| case.options.strategies.contains(&strategy);
    let figure = |text: &Option<String>| text.as_deref().map(|t| t.parse::<f64>().unwrap());
    for refusal in &plan.refusals {
        let (ours, theirs) = (figure(&refusal.reclaimer_ratio), figure(&refusal.victim_ratio));
        let holds = match refusal.rule {
            Rule::GateFairShare | Rule::GateQuota | Rule::Limit => ours.is_some_and(|r| r > 1.0),
            Rule::Saturation => ours.zip(theirs).is_some_and(|(r, v)| r > 1.0 && r >= v),
            Rule::Strategy => {
                let over_quota = ours.is_some_and(|r| r > 1.0) && !has(Strategy::FairShare);
                refusal.slot.is_none() || over_quota || theirs.is_some_and(|v| v <= 1.0)
            }
            Rule::MinRuntime => theirs.is_some_and(|v| v < 1.0),
            Rule::Placement => ours.is_none_or(|r| r > 1.0),
            _ => true,
        };
        prop_assert!(holds, "{refusal:?}");
        prop_assert!(refusal.workload_id.is_none() || refusal.level.is_some());
    }
    Ok(())
}

/// Every law.
pub fn check(case: &Case, plan: &Plan) -> Law {
    protected_kernels_stay(case, plan)?;
    plans_hold(case, plan)?;
    nobody_goes_in_vain(case, plan)?;
    roles_are_never_swapped(case, plan)?;
    refusals_can_be_reproduced(case, plan)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_law_holds(seed in any::<u64>()) {
        let case = random(seed);
        check(&case, &case.plan())?;
    }

    /// The order of the input changes nothing.
    #[test]
    fn permutation_changes_nothing(seed in any::<u64>()) {
        let case = random(seed);
        let mut other: Case = case.clone();
        other.running.reverse();
        other.queues.reverse();
        let (plan, same) = (case.plan(), other.plan());
        prop_assert_eq!(plan.verdict, same.verdict);
        prop_assert_eq!(plan.victims, same.victims);
        prop_assert_eq!(plan.placement, same.placement);
    }
}

/// A queue in quota keeps a workload although its side, further up, holds more than its own quota.
fn kept_below_its_side(case: &Case, plan: &Plan) -> bool {
    let world = World::new(case);
    let own = |refusal: &&Refusal| refusal.queue == case.pending.queue;
    let kept = |refusal: &Refusal| refusal.level.as_deref() != Some(world.side_of(&refusal.queue));
    plan.refusals.iter().filter(|r| r.rule == Rule::Strategy && !own(r)).any(kept)
}

/// The random clusters are not all alike: every verdict occurs often enough to mean something.
#[test]
fn random_clusters_vary() {
    let mut seen = std::collections::HashMap::new();
    for seed in 0..600 {
        let case = random(seed);
        let plan = case.plan();
        *seen.entry(format!("{:?}", plan.verdict)).or_insert(0) += 1;
        *seen.entry("kept".to_owned()).or_insert(0) += usize::from(kept_below_its_side(&case, &plan));
    }
    for verdict in ["Fits", "Reclaim", "Preempt", "Refused", "kept"] {
        assert!(seen.get(verdict).is_some_and(|count| *count >= 20), "{seen:?}");
    }
}
