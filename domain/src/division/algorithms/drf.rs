//! `drf` (DIVISION §4): weighted dominant-resource filling over the tree.

mod clock;
mod filling;
mod node;

use std::cmp::Reverse;

use super::{DivisionAlgorithm, DivisionResult, remaining_capacity};
use crate::decimal::Amount;
use crate::division::trace::{DivisionStep, DivisionTrace};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::queues::Bound;
use clock::close;
use filling::DrfFilling;
use node::StopReason;

/// `drf` has no options.
pub use crate::flat::NoKeys as Options;

pub(super) struct DrfDivision;

impl DivisionAlgorithm for DrfDivision {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn summary(&self) -> &'static str {
        "By dominant share and weight."
    }

    fn divide(&self, tree: &QueueTree, _: &super::DivisionOptions, trace: &mut DivisionTrace) -> DivisionResult {
        let mut filling = DrfFilling::new(tree);
        filling.run();
        let mut fair_share = QueueSlotGrid::new(tree.len(), tree.slots.len(), Amount::ZERO);
        for queue in (0..tree.len()).filter(|q| tree.is_leaf(*q)) {
            let (part, _) = filling.leaf(queue);
            for column in 0..tree.slots.len() {
                let cell = (queue, column);
                fair_share[cell] = share(tree.request[cell], tree.limit[cell], part);
            }
        }
        add_up(tree, &filling, &mut fair_share);
        let recorded = if trace.is_on() { tree.len() } else { 0 };
        for queue in 0..recorded {
            let stop = if tree.is_leaf(queue) { filling.leaf(queue).1 } else { None };
            record(tree, queue, stop, fair_share.row(queue), trace);
        }
        DivisionResult {
            remaining: remaining_capacity(tree, &fair_share),
            fair_share,
            ratios: None,
            warnings: Vec::new(),
        }
    }
}

/// The number of significant decimal digits of a share. Later digits are only rounding errors of the steps.
const SIGNIFICANT_DIGITS: i32 = 13;

/// A leaf's share of a slot if it has `part` (0 to 1) of its demand: everything it may have when `part` is 1 or differs
/// from that only by rounding, otherwise the first [`SIGNIFICANT_DIGITS`] digits.
fn share(request: Amount, limit: Bound, part: f64) -> Amount {
    let most = limit.cut(request);
    let share = request.to_f64() * part;
    if part >= 1.0 || close(share, most.to_f64()) {
        most
    } else {
        Amount::from_f64_digits(share, SIGNIFICANT_DIGITS).min(most)
    }
}

/// Sets the share of every parent to the sum over its children. Rounding of floats may have carried such a sum above a
/// limit or above the capacity by a few units of 10^-12; these are taken back from leaves.
fn add_up(tree: &QueueTree, filling: &DrfFilling, fair_share: &mut QueueSlotGrid<Amount>) {
    let levels: Vec<Option<usize>> = tree.levels().collect();
    for level in levels.into_iter().rev() {
        for column in 0..tree.slots.len() {
            let bound = match level {
                Some(queue) => tree.limit[(queue, column)].cut(tree.capacity[column]),
                None => tree.capacity[column],
            };
            let excess = sum(tree, fair_share, level, column).saturating_sub(bound.units());
            if excess > 0 {
                take_excess(tree, filling, fair_share, (level, column), excess);
            }
            if let Some(queue) = level {
                fair_share[(queue, column)] = Amount::from_units(sum(tree, fair_share, level, column));
            }
        }
    }
}

fn sum(tree: &QueueTree, fair_share: &QueueSlotGrid<Amount>, level: Option<usize>, column: usize) -> u128 {
    let parts = tree.children(level).iter().map(|q| fair_share[(*q, column)].units());
    parts.fold(0u128, u128::saturating_add)
}

/// The sort key of a leaf that rounding excess is taken from, with its queue: first leaves that lack something, then
/// among them leaves that a shared limit or slot held back, then the largest share.
type ExcessLeafKey = (Reverse<(bool, bool, Amount)>, usize);

/// Takes `excess` (units of 10^-12) from the leaves below a level, the largest first. A leaf that has all it asks for
/// loses nothing as long as another leaf can give.
fn take_excess(
    tree: &QueueTree,
    filling: &DrfFilling,
    fair_share: &mut QueueSlotGrid<Amount>,
    (level, column): (Option<usize>, usize),
    mut excess: u128,
) {
    let mut below = tree.children(level).to_vec();
    let mut next = 0;
    while next < below.len() {
        below.extend_from_slice(tree.children(Some(below[next])));
        next += 1;
    }
    let mut leaves: Vec<ExcessLeafKey> = below
        .iter()
        .filter(|q| tree.is_leaf(**q))
        .map(|q| {
            let share = fair_share[(*q, column)];
            let lacks = share < tree.requestable(*q, column);
            (Reverse((lacks, lacks && filling.is_held_back(*q), share)), *q)
        })
        .collect();
    let order = |a: &ExcessLeafKey, b: &ExcessLeafKey| a.0.cmp(&b.0).then_with(|| tree.by_age(a.1, b.1));
    // The excess is a few units of 10^-12, so nearly always the first leaf covers it and no sort is needed.
    match leaves.iter().copied().min_by(order) {
        Some(first) if first.0.0.2.units() >= excess => leaves = vec![first],
        _ => leaves.sort_unstable_by(order),
    }
    for (Reverse((.., share)), leaf) in leaves {
        let taken = share.units().min(excess);
        excess -= taken;
        for queue in tree.ancestry(leaf).take_while(|queue| Some(*queue) != level) {
            let cell = &mut fair_share[(queue, column)];
            *cell = Amount::from_units(cell.units().saturating_sub(taken));
        }
        if excess == 0 {
            break;
        }
    }
}

fn record(tree: &QueueTree, queue: usize, stop: Option<StopReason>, shares: &[Amount], trace: &mut DivisionTrace) {
    let weight = tree.queues[queue].weight;
    let parts = shares.iter().zip(&tree.capacity).filter(|(_, capacity)| !capacity.is_zero());
    let dominant = parts.map(|(share, capacity)| share.to_f64() / capacity.to_f64()).fold(0.0, f64::max);
    let level = (!weight.is_zero()).then(|| Amount::from_f64(dominant / weight.to_f64()));
    for (column, share) in shares.iter().enumerate().filter(|(_, share)| !share.is_zero()) {
        trace.push(|| DivisionStep {
            queue,
            column: Some(column),
            rule: "filling",
            weight: Some(weight),
            level,
            gift: (*share).into(),
            capped_by: stop.map(|stop| stop.shown(tree, queue)),
            ..DivisionStep::default()
        });
    }
}
