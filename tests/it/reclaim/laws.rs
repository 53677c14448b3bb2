//! Laws over random clusters, checked with independent figures.

use proptest::prelude::*;

use super::again::after;
use super::random::random;
use super::support::Case;
use super::world::{Mode, World};
use fairshared::domain::reclaim::{EvictionRefusal, ReclaimPlan, ReclaimRule, ReclaimStrategy, ReclaimVerdict};
use serde_json::json;

/// The number of random clusters.
const CASES: u32 = 1_500;

fn taken(verdict: ReclaimVerdict) -> bool {
    matches!(verdict, ReclaimVerdict::Reclaim | ReclaimVerdict::Preempt)
}

fn mode(plan: &ReclaimPlan) -> Mode {
    if plan.verdict == ReclaimVerdict::Preempt { Mode::Preempt } else { Mode::Reclaim }
}

type Law = Result<(), TestCaseError>;

/// Protected, critical and non-reclaimable kernels are never victims; gangs keep their minimum or go as a whole.
fn protected_kernels_stay(case: &Case, plan: &ReclaimPlan) -> Law {
    let (world, mode) = (World::new(case), mode(plan));
    let gone = world.units(plan);
    prop_assert!(world.gangs_hold(&gone), "gangs");
    for (victim, unit) in plan.victims.iter().zip(&gone) {
        let workload = &case.running[unit.workload];
        prop_assert!(workload.preemptible && !workload.critical);
        prop_assert!(world.tree.queues[world.queue_of(unit.workload)].reclaimable);
        let evicted: usize = gone.iter().filter(|u| u.workload == unit.workload).map(|u| u.members.len()).sum();
        let left = workload.members.len() - evicted;
        prop_assert!(!world.is_young(mode, unit.workload) || left >= world.core(unit.workload));
        if mode == Mode::Preempt {
            prop_assert!(victim.queue == case.pending.queue && workload.priority < case.pending.priority);
        } else {
            prop_assert!(victim.queue != case.pending.queue);
        }
    }
    Ok(())
}

/// Room and limits hold after a plan; every victim was lawful at its eviction; a queue that lost something stays above the
/// reclaimer.
fn plans_hold(case: &Case, plan: &ReclaimPlan) -> Law {
    if taken(plan.verdict) || plan.verdict == ReclaimVerdict::Fits {
        let world = World::new(case);
        let gone = world.units(plan);
        prop_assert!(world.has_room(&gone), "room");
        prop_assert!(world.placement_holds(plan), "placement");
        prop_assert!(world.within_limits(&gone), "limits");
        if plan.verdict == ReclaimVerdict::Reclaim {
            prop_assert!(world.gate_open(), "gate");
            for (at, victim) in plan.victims.iter().enumerate() {
                let lawful = world.strategies(&gone[..at], gone[at].workload);
                prop_assert!(lawful.iter().any(|s| json!(s) == json!(victim.rule)), "strategies: {victim:?}");
            }
            prop_assert!(world.saturation_holds(&gone), "saturation");
            prop_assert!(world.no_ping_pong(&gone), "ping-pong");
        }
    }
    Ok(())
}

/// Dropping any one victim breaks the plan.
fn nobody_goes_in_vain(case: &Case, plan: &ReclaimPlan) -> Law {
    let world = World::new(case);
    let gone = world.units(plan);
    for at in 0..gone.len() {
        let rest = [&gone[..at], &gone[at + 1..]].concat();
        let holds = world.gangs_hold(&rest)
            && world.has_room(&rest)
            && world.within_limits(&rest)
            && (plan.verdict == ReclaimVerdict::Preempt || world.saturation_holds(&rest) && world.no_ping_pong(&rest));
        prop_assert!(!holds, "{:?} is not needed", plan.victims[at]);
    }
    if plan.verdict == ReclaimVerdict::Fits {
        prop_assert!(plan.victims.is_empty());
    }
    Ok(())
}

/// A queue that lost something cannot take it back from the reclaimer's queue, neither all of it nor a part.
pub fn roles_are_never_swapped(case: &Case, plan: &ReclaimPlan) -> Law {
    if plan.verdict == ReclaimVerdict::Reclaim {
        for (back, after) in after(case, plan) {
            let again = after.plan();
            let swapped = again.verdict == ReclaimVerdict::Reclaim
                && again.victims.iter().any(|victim| victim.queue == case.pending.queue);
            prop_assert!(!swapped, "{back} takes back: {plan:#?} {again:#?}");
        }
    }
    Ok(())
}

/// The rule that refused holds on the printed figures.
fn refusals_can_be_reproduced(case: &Case, plan: &ReclaimPlan) -> Law {
    prop_assert_eq!(plan.verdict == ReclaimVerdict::Refused && plan.refusals.is_empty(), false);
    let has = |strategy| case.options.plan.strategies.contains(&strategy);
    let multiplier = case.options.plan.reclaimer_utilization_multiplier.to_f64().max(1.0);
    let figure = |text: &Option<String>| text.as_deref().map(|t| t.parse::<f64>().unwrap());
    for refusal in &plan.refusals {
        let (ours, theirs) = (figure(&refusal.reclaimer_ratio), figure(&refusal.victim_ratio));
        let holds = match refusal.rule {
            ReclaimRule::GateFairShare | ReclaimRule::GateQuota | ReclaimRule::Limit => ours.is_some_and(|r| r > 1.0),
            ReclaimRule::Saturation => ours.zip(theirs).is_some_and(|(r, v)| r > 1.0 && r * multiplier >= v),
            ReclaimRule::Strategy => {
                let over_quota = ours.is_some_and(|r| r > 1.0) && !has(ReclaimStrategy::FairShare);
                refusal.slot.is_none() || over_quota || theirs.is_some_and(|v| v <= 1.0)
            }
            ReclaimRule::MinRuntime => theirs.is_some_and(|v| v < 1.0),
            ReclaimRule::Placement => ours.is_none_or(|r| r > 1.0),
            _ => true,
        };
        prop_assert!(holds, "{refusal:?}");
        prop_assert!(refusal.workload_id.is_none() || refusal.level.is_some());
    }
    Ok(())
}

/// Every law.
pub fn check(case: &Case, plan: &ReclaimPlan) -> Law {
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
fn kept_below_its_side(case: &Case, plan: &ReclaimPlan) -> bool {
    let world = World::new(case);
    let kept = |refusal: &EvictionRefusal| {
        let pair = world.pair(world.tree.find(&refusal.queue).unwrap());
        pair.is_some_and(|(_, theirs)| refusal.level.as_deref() != Some(world.tree.name(theirs)))
    };
    plan.refusals.iter().filter(|r| r.rule == ReclaimRule::Strategy).any(kept)
}

/// Random clusters vary: every verdict occurs often enough for the laws to be tested.
#[test]
fn random_clusters_vary() {
    let mut seen = std::collections::HashMap::new();
    for seed in 0..1_500 {
        let case = random(seed);
        let plan = case.plan();
        *seen.entry(format!("{:?}", plan.verdict)).or_insert(0) += 1;
        *seen.entry("kept".to_owned()).or_insert(0) += usize::from(kept_below_its_side(&case, &plan));
    }
    for verdict in ["Fits", "Reclaim", "Preempt", "Refused", "kept"] {
        assert!(seen.get(verdict).is_some_and(|count| *count >= 20), "{seen:?}");
    }
}
