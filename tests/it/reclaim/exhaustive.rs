//! A refusal means that no lawful set of victims exists: in small clusters all sets are tried.

use fairshared::domain::reclaim::{PolicyName, ReclaimPlan, ReclaimVerdict};
use proptest::prelude::*;

use super::laws;
use super::random::small;
use super::support::Case;
use super::world::{Mode, Unit, World};

/// The number of random clusters.
const CASES: u32 = 2_000;

/// The most units of which all sets are tried.
const MOST_UNITS: usize = 9;

fn keeps_gangs_whole(world: &World, mode: Mode) -> bool {
    mode == Mode::Preempt || !world.has_tiers()
}

/// The units that may be evicted at all: of a gang its surplus members, and its core unless it started too recently.
fn units(world: &World, mode: Mode) -> Vec<Unit> {
    let mut units = Vec::new();
    for (workload, known) in world.case.running.iter().enumerate() {
        let queue = world.queue_of(workload);
        let kept = !known.preemptible || known.critical;
        let concerned = match mode {
            Mode::Reclaim if world.has_tiers() => known.queue != world.case.pending.queue,
            Mode::Reclaim => world.pair(queue).is_some(),
            Mode::Preempt => known.queue == world.case.pending.queue && known.priority < world.case.pending.priority,
        };
        let unit = |members: Vec<usize>| Unit { workload, members };
        if kept || !concerned || world.up_to_side(queue).iter().any(|q| !world.tree.queues[*q].reclaimable) {
            continue;
        }
        let as_one = keeps_gangs_whole(world, mode) || world.is_young(mode, workload);
        let core = if as_one { world.core(workload) } else { 0 };
        units.extend((core..known.members.len()).map(|member| unit(vec![member])));
        if core > 0 && !world.is_young(mode, workload) {
            units.push(unit((0..core).collect()));
        }
    }
    units
}

fn chosen(units: &[Unit], set: usize) -> Vec<Unit> {
    (0..units.len()).filter(|at| set & (1 << at) != 0).map(|at| units[at].clone()).collect()
}

/// True if the policy allows the eviction of a unit after others.
fn may_go(world: &World, gone: &[Unit], unit: &Unit) -> bool {
    if world.has_tiers() { world.tiers_allow(gone, unit) } else { !world.strategies(gone, unit.workload).is_empty() }
}

/// By set, as bits: true if its units may be evicted one after the other, in some order.
fn orders(world: &World, units: &[Unit]) -> Vec<bool> {
    let mut lawful = vec![true; 1 << units.len()];
    for set in 1..lawful.len() {
        let last = |at: &usize| {
            let others = set & !(1 << at);
            others != set && lawful[others] && may_go(world, &chosen(units, others), &units[*at])
        };
        lawful[set] = (0..units.len()).any(|at| last(&at));
    }
    lawful
}

/// A lawful set of victims.
fn lawful_set(world: &World, mode: Mode) -> Option<Vec<Unit>> {
    let gate_open = || if world.has_tiers() { !world.is_overused() } else { world.gate_open() };
    if !world.quotas_allow() || mode == Mode::Reclaim && !gate_open() {
        return None;
    }
    let units = units(world, mode);
    assert!(units.len() <= MOST_UNITS, "{} units", units.len());
    let makes_room = |gone: &Vec<Unit>| {
        let by_strategies = mode == Mode::Reclaim && !world.has_tiers();
        (!keeps_gangs_whole(world, mode) || world.gangs_hold(gone))
            && world.within_limits(gone)
            && (!by_strategies || world.saturation_holds(gone) && world.no_ping_pong(gone))
            && world.has_room(gone)
    };
    let ordered = if mode == Mode::Reclaim { orders(world, &units) } else { vec![true; 1 << units.len()] };
    (0..ordered.len()).filter(|set| ordered[*set]).map(|set| chosen(&units, set)).find(makes_room)
}

/// A lawful set that the planner overlooked. If a mode found nothing, it has none, and a workload that fits needs no victim.
fn overlooked(world: &World, verdict: ReclaimVerdict) -> Option<(Mode, Vec<Unit>)> {
    let missed: &[Mode] = match verdict {
        ReclaimVerdict::Preempt => &[Mode::Reclaim],
        ReclaimVerdict::Refused => &[Mode::Reclaim, Mode::Preempt],
        _ => &[],
    };
    missed.iter().find_map(|mode| Some((*mode, lawful_set(world, *mode)?)))
}

/// True if a cluster has too many sets to try all.
fn is_large(world: &World) -> bool {
    [Mode::Reclaim, Mode::Preempt].iter().any(|mode| units(world, *mode).len() > MOST_UNITS)
}

/// The same with plug-ins.
fn with_tiers(seed: u64) -> Case {
    let mut case = small(seed);
    case.options.plan.policy = PolicyName::Plugins;
    let tiers: [&[&[&str]]; 4] = [
        &[&["priority", "gang", "conformance"], &["drf", "proportion", "predicates", "node_order"]],
        &[&["proportion", "predicates"]],
        &[&["gang", "proportion"], &["predicates"]],
        &[&["priority", "drf"], &["conformance", "proportion", "predicates"]],
    ];
    let names = tiers[usize::try_from(seed % 4).unwrap()].iter();
    case.options.plan.tiers = names.map(|tier| tier.iter().map(|name| (*name).to_owned()).collect()).collect();
    case
}

fn nothing_is_overlooked(case: &Case, plan: &ReclaimPlan) -> Result<(), TestCaseError> {
    let world = World::new(case);
    prop_assert!(plan.verdict != ReclaimVerdict::SearchExhausted);
    if !is_large(&world) {
        let missed = overlooked(&world, plan.verdict);
        prop_assert!(missed.is_none(), "{missed:?} instead of {plan:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_lawful_is_overlooked(seed in any::<u64>()) {
        let case = small(seed);
        let plan = case.plan();
        laws::check(&case, &plan)?;
        nothing_is_overlooked(&case, &plan)?;
    }

    #[test]
    fn nothing_lawful_is_overlooked_by_plugins(seed in any::<u64>()) {
        let case = with_tiers(seed);
        let (world, plan) = (World::new(&case), case.plan());
        for unit in world.units(&plan).iter().filter(|_| plan.verdict == ReclaimVerdict::Reclaim) {
            let young = world.is_young(Mode::Reclaim, unit.workload);
            prop_assert!(!young || unit.members.iter().all(|member| *member >= world.core(unit.workload)));
        }
        if case.options.plan.tiers[0].iter().any(|name| name == "proportion") {
            laws::roles_are_never_swapped(&case, &plan)?;
        }
        nothing_is_overlooked(&case, &plan)?;
    }
}
