//! A refusal means that no lawful set of victims exists: in small clusters all sets are tried.

use fairshared::domain::reclaim::Verdict;
use proptest::prelude::*;

use super::laws;
use super::random::small;
use super::world::{Mode, Unit, World};

/// How many random clusters are seen.
const CASES: u32 = 2_000;

/// More units are too many sets.
const MOST_UNITS: usize = 9;

/// What may go at all: of a gang its surplus members, and its core unless it started too lately.
fn units(world: &World, mode: Mode) -> Vec<Unit> {
    let mut units = Vec::new();
    for (workload, known) in world.case.running.iter().enumerate() {
        let queue = world.queue_of(workload);
        let kept = !known.preemptible || known.critical;
        let concerned = match mode {
            Mode::Reclaim => world.pair(queue).is_some(),
            Mode::Preempt => known.queue == world.case.pending.queue && known.priority < world.case.pending.priority,
        };
        let unit = |members: Vec<usize>| Unit { workload, members };
        if kept || !concerned || world.up_to_side(queue).iter().any(|q| !world.tree.queues[*q].reclaimable) {
            continue;
        }
        let core = world.core(workload);
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

/// By set, as bits: whether its units may go one after the other, in some order.
fn orders(world: &World, units: &[Unit]) -> Vec<bool> {
    let mut lawful = vec![true; 1 << units.len()];
    for set in 1..lawful.len() {
        let last = |at: &usize| {
            let others = set & !(1 << at);
            others != set && lawful[others] && !world.strategies(&chosen(units, others), units[*at].workload).is_empty()
        };
        lawful[set] = (0..units.len()).any(|at| last(&at));
    }
    lawful
}

/// A lawful set of victims.
fn lawful_set(world: &World, mode: Mode) -> Option<Vec<Unit>> {
    if !world.quotas_allow() || mode == Mode::Reclaim && !world.gate_open() {
        return None;
    }
    let units = units(world, mode);
    assert!(units.len() <= MOST_UNITS, "{} units", units.len());
    let makes_room = |gone: &Vec<Unit>| {
        world.gangs_hold(gone)
            && world.within_limits(gone)
            && (mode == Mode::Preempt || world.saturation_holds(gone) && world.no_ping_pong(gone))
            && world.has_room(gone)
    };
    let ordered = if mode == Mode::Reclaim { orders(world, &units) } else { vec![true; 1 << units.len()] };
    (0..ordered.len()).filter(|set| ordered[*set]).map(|set| chosen(&units, set)).find(makes_room)
}

/// A lawful set that the planner overlooked: every mode that found nothing has none, and what fits takes nobody.
pub fn overlooked(world: &World, verdict: Verdict) -> Option<(Mode, Vec<Unit>)> {
    let missed: &[Mode] = match verdict {
        Verdict::Preempt => &[Mode::Reclaim],
        Verdict::Refused => &[Mode::Reclaim, Mode::Preempt],
        _ => &[],
    };
    missed.iter().find_map(|mode| Some((*mode, lawful_set(world, *mode)?)))
}

/// Whether trying all sets of a cluster is too much.
pub fn is_large(world: &World) -> bool {
    [Mode::Reclaim, Mode::Preempt].iter().any(|mode| units(world, *mode).len() > MOST_UNITS)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_lawful_is_overlooked(seed in any::<u64>()) {
        let case = small(seed);
        let world = World::new(&case);
        let plan = case.plan();
        laws::check(&case, &plan)?;
        prop_assert!(plan.verdict != Verdict::SearchExhausted);
        if !is_large(&world) {
            let missed = overlooked(&world, plan.verdict);
            prop_assert!(missed.is_none(), "{missed:?} instead of {plan:?}");
        }
    }
}
