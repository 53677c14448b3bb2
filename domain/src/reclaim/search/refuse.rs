//! Explains why there is no plan: the rule that forbids each candidate in the state at the end of the search
//! (DIVISION §6.8).

use super::candidates::{EvictionExtent, WorkloadProtections};
use super::greedy::GreedySearch;
use crate::division::Fraction;
use crate::division::fraction::largest_ratio;
use crate::reclaim::free_capacity::PendingClass;
use crate::reclaim::limits;
use crate::reclaim::outcome::{EvictionRefusal, ReclaimRule};
use crate::reclaim::policy::EvictionDenial;
use crate::reclaim::snapshot::EvictionUnit;

/// The refusal for what the pending workload itself lacks; `None` if there is no candidate.
pub fn own_refusal(search: &GreedySearch, protections: &WorkloadProtections) -> Option<EvictionRefusal> {
    let snapshot = search.snapshot;
    let has_candidate = (0..snapshot.jobs.len()).any(|job| protections.may_take(job));
    has_candidate.then(|| missing_room(search).shown(snapshot, None))
}

/// One refusal for each candidate; before them one for what the pending workload itself lacks.
pub fn refusals(search: &mut GreedySearch, protections: &WorkloadProtections) -> Vec<EvictionRefusal> {
    let snapshot = search.snapshot;
    let lacking = missing_room(search);
    let mut lines = Vec::new();
    for job in (0..snapshot.jobs.len()).filter(|job| protections.may_take(*job)) {
        let denied = forbidding_rule(search, protections, job).unwrap_or(lacking);
        lines.push(denied.shown(snapshot, Some(job)));
    }
    if !lines.is_empty() {
        lines.insert(0, lacking.shown(snapshot, None));
    }
    lines
}

/// The limit or the room that is missing even after every lawful victim is evicted.
fn missing_room(search: &GreedySearch) -> EvictionDenial {
    if let Err(denied) = limits::check(&search.board.holdings) {
        return denied;
    }
    let snapshot = search.snapshot;
    let plain = EvictionDenial::plain(ReclaimRule::Placement, snapshot.queue());
    let short = |class: &PendingClass| {
        let columns = class.request.iter().map(|(column, _)| *column);
        let (column, ratio) = largest_ratio(columns, |column| scarcity_ratio(search, class, column));
        (ratio > Fraction::ONE).then_some(EvictionDenial { column, ours: Some(ratio), ..plain })
    };
    search.classes.iter().find_map(short).unwrap_or(plain)
}

/// The requested amount / the most that any eligible agent could offer, or the whole group if only totals count.
fn scarcity_ratio(search: &GreedySearch, class: &PendingClass, column: usize) -> Fraction {
    let agents = (0..class.allowed.len()).filter(|agent| class.allowed[*agent] > 0);
    let most = agents.map(|agent| u128::try_from(search.obtainable(agent, column)).unwrap_or(0)).max().unwrap_or(0);
    let asked = class.request.iter().find(|(c, _)| *c == column).map_or(0, |(_, units)| *units);
    Fraction::new(asked, most)
}

fn forbidding_rule(search: &mut GreedySearch, protections: &WorkloadProtections, job: usize) -> Option<EvictionDenial> {
    let snapshot = search.snapshot;
    let extent = match protections.extent(job) {
        Ok(extent) => extent,
        Err(denied) => return Some(denied),
    };
    let known = &snapshot.jobs[job];
    if let Some(denied) = snapshot.pairs[known.queue].and_then(|pair| search.spared.get(&pair.theirs)) {
        return Some(*denied);
    }
    let core = extent.core(search.policy, known);
    let first_surplus = known.members.start + core;
    let mut units: Vec<EvictionUnit> = snapshot
        .kernels_in(first_surplus..known.members.end)
        .rev()
        .map(|members| EvictionUnit { job, queue: known.queue, members, is_core: false })
        .collect();
    if extent == EvictionExtent::All && core > 0 {
        units.push(EvictionUnit {
            job,
            queue: known.queue,
            members: known.members.start..first_surplus,
            is_core: true,
        });
    }
    units.retain(|unit| !search.is_victim(unit));
    let denied = first_denied(search, &units);
    let keeps_minimum = || {
        let ratio = Fraction::new(known.core_kernels as u128, known.core_kernels as u128);
        EvictionDenial { theirs: Some(ratio), ..EvictionDenial::plain(ReclaimRule::Gang, known.queue) }
    };
    denied.or_else(|| (extent == EvictionExtent::Surplus).then(keeps_minimum))
}

/// The denial of the first unit that may not be evicted when the units are evicted one after the other.
fn first_denied(search: &mut GreedySearch, units: &[EvictionUnit]) -> Option<EvictionDenial> {
    let mut gone = Vec::with_capacity(units.len());
    let mut denied = None;
    for unit in units {
        let before = search.policy.before(&search.board.holdings, unit).map(|_| ());
        denied = before.err();
        if denied.is_some() {
            break;
        }
        search.board.holdings.take(unit);
        gone.push(unit);
        denied = search.policy.after(&search.board.holdings, unit.queue).err();
        if denied.is_some() {
            break;
        }
    }
    for unit in gone {
        search.board.holdings.give_back(unit);
    }
    denied
}
