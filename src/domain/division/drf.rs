//! `drf` (§4): weighted dominant-resource filling over the tree.

use super::filling::Filling;
use super::node::Stop;
use super::options::Options;
use super::trace::{Step, Trace};
use super::{Algorithm, Grid, Shares, Tree, remaining};
use crate::domain::decimal::Amount;

pub(super) struct Drf;

impl Algorithm for Drf {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn divide(&self, tree: &Tree, _: &Options, trace: &mut Trace) -> Shares {
        let mut filling = Filling::new(tree);
        filling.run();
        let mut fair_share = Grid::new(tree.len(), tree.slots.len(), Amount::ZERO);
        for queue in (0..tree.len()).filter(|q| tree.is_leaf(*q)) {
            let (part, _) = filling.leaf(queue);
            for column in 0..tree.slots.len() {
                let request = tree.request[(queue, column)];
                let share = if part < 1.0 { Amount::from_f64_digits(request.to_f64() * part, DIGITS) } else { request };
                fair_share[(queue, column)] = tree.limit[(queue, column)].cut(share.min(request));
            }
        }
        add_up(tree, &mut fair_share);
        let recorded = if trace.is_on() { tree.len() } else { 0 };
        for queue in 0..recorded {
            let stop = if tree.is_leaf(queue) { filling.leaf(queue).1 } else { None };
            record(tree, queue, stop, fair_share.row(queue), trace);
        }
        Shares { remaining: remaining(tree, &fair_share), fair_share, ratios: None, warnings: Vec::new() }
    }
}

/// Digits of a solution that count; what lies below is the rounding of the steps.
const DIGITS: i32 = 13;

/// A parent has what its children have. Floats may have carried a sum above a limit or the capacity by the last
/// digits; these are taken from the largest descendant.
fn add_up(tree: &Tree, fair_share: &mut Grid<Amount>) {
    let levels: Vec<Option<usize>> = tree.levels().collect();
    for level in levels.into_iter().rev() {
        for column in 0..tree.slots.len() {
            let sum = |shares: &Grid<Amount>| {
                let parts = tree.children(level).iter().map(|q| shares[(*q, column)].units());
                parts.fold(0u128, u128::saturating_add)
            };
            let bound = match level {
                Some(queue) => tree.limit[(queue, column)].cut(tree.capacity[column]),
                None => tree.capacity[column],
            };
            let mut excess = sum(fair_share).saturating_sub(bound.units());
            while excess > 0 {
                excess -= take(tree, fair_share, level, column, excess);
            }
            if let Some(queue) = level {
                fair_share[(queue, column)] = Amount::from_units(sum(fair_share));
            }
        }
    }
}

/// Takes at most `excess` from the largest child below `level`, and so on down to a leaf.
fn take(tree: &Tree, fair_share: &mut Grid<Amount>, level: Option<usize>, column: usize, excess: u128) -> u128 {
    let largest = |of: Option<usize>, shares: &Grid<Amount>| {
        let share = |q: &usize| shares[(*q, column)];
        tree.children(of).iter().copied().max_by(|a, b| share(a).cmp(&share(b)).then_with(|| tree.by_age(*b, *a)))
    };
    let mut path = Vec::new();
    let mut at = level;
    while let Some(child) = largest(at, fair_share) {
        path.push(child);
        at = Some(child);
    }
    let taken = at.map_or(excess, |leaf| fair_share[(leaf, column)].units().min(excess));
    for queue in path {
        let cell = &mut fair_share[(queue, column)];
        *cell = Amount::from_units(cell.units().saturating_sub(taken));
    }
    // Nothing to take from ends the search.
    if taken == 0 { excess } else { taken }
}

fn record(tree: &Tree, queue: usize, stop: Option<Stop>, shares: &[Amount], trace: &mut Trace) {
    let weight = tree.queues[queue].weight;
    let parts = shares.iter().zip(&tree.capacity).filter(|(_, capacity)| !capacity.is_zero());
    let dominant = parts.map(|(share, capacity)| share.to_f64() / capacity.to_f64()).fold(0.0, f64::max);
    let level = (!weight.is_zero()).then(|| Amount::from_f64(dominant / weight.to_f64()));
    for (column, share) in shares.iter().enumerate().filter(|(_, share)| !share.is_zero()) {
        trace.push(|| Step {
            queue,
            column: Some(column),
            rule: "filling",
            weight: Some(weight),
            level,
            gift: *share,
            capped_by: stop.map(|stop| stop.told(tree, queue)),
            ..Step::default()
        });
    }
}
