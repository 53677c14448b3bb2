//! Volcano's rounds of `proportion` (appendix C): capped slot by slot, with guarantees.

use super::exact::apportion;
use super::trace::{Step, Trace};
use super::{Bound, Grid, Tree};
use crate::domain::decimal::Amount;

/// Rounds that take more steps than this in total are ended: each gives away a fixed part of what is left at least,
/// so only dust remains.
const STEPS: usize = 50_000_000;
const MIN_ROUNDS: usize = 64;

/// Divides one level; false if the rounds had to be ended.
pub(super) fn divide(
    tree: &Tree,
    children: &[usize],
    mut left: Vec<u128>,
    deserved: &mut Grid<Amount>,
    trace: &mut Trace,
) -> bool {
    let ceilings = ceilings(tree, children, &left);
    let mut unmet: Vec<usize> = (0..children.len()).filter(|at| !tree.queues[children[*at]].weight.is_zero()).collect();
    let rounds = (STEPS / (children.len().max(1) * left.len().max(1))).max(MIN_ROUNDS);
    let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
    for round in 1..=rounds {
        if unmet.is_empty() || left.iter().all(|l| *l == 0) {
            return true;
        }
        let weights: Vec<u128> = unmet.iter().map(|at| tree.queues[children[*at]].weight.units()).collect();
        let weight_sum = weights.iter().fold(0u128, |sum, w| sum.saturating_add(*w));
        let (mut changed, mut complete) = (vec![false; unmet.len()], vec![true; unmet.len()]);
        for (column, left) in left.iter_mut().enumerate() {
            let divided = *left;
            let offers = apportion(divided, &weights, |a, b| tree.by_age(children[unmet[a]], children[unmet[b]]));
            for (i, offer) in offers.into_iter().enumerate() {
                let (at, cell) = (unmet[i], (children[unmet[i]], column));
                let before = deserved[cell].units();
                let ceiling = ceilings[(at, column)];
                let guarantee = tree.guarantee[cell].units();
                let after = before.saturating_add(offer).min(ceiling).max(guarantee).max(before);
                deserved[cell] = Amount::from_units(after);
                *left = left.saturating_sub(after - before);
                changed[i] |= after != before;
                complete[i] &= tree.request[cell].units() <= after;
                if after != before {
                    trace.push(|| Step {
                        queue: cell.0,
                        column: Some(column),
                        rule: if after == guarantee && after > ceiling { "guarantee" } else { "by_weight" },
                        round,
                        divided: Some(Amount::from_units(divided)),
                        weight: Some(Amount::from_units(weights[i])),
                        weight_sum: Some(Amount::from_units(weight_sum)),
                        offer: Some(Amount::from_units(offer)),
                        gift: Amount::from_units(after - before),
                        capped_by: (after == ceiling && after - before < offer).then_some("request or limit"),
                        ..Step::default()
                    });
                }
            }
        }
        let mut at = 0;
        unmet.retain(|_| {
            at += 1;
            changed[at - 1] && !complete[at - 1]
        });
    }
    unmet.is_empty()
}

/// The smallest of request, limit, and what the other queues' guarantees leave.
fn ceilings(tree: &Tree, children: &[usize], total: &[u128]) -> Grid<u128> {
    let mut ceilings = Grid::new(children.len(), total.len(), 0);
    for (column, total) in total.iter().enumerate() {
        let guarantee = |queue: usize| tree.guarantee[(queue, column)].units();
        let all = children.iter().fold(0u128, |sum, q| sum.saturating_add(guarantee(*q)));
        for (at, queue) in children.iter().enumerate() {
            let others = all.saturating_sub(guarantee(*queue));
            let free = total.saturating_sub(others);
            let capability = match tree.limit[(*queue, column)] {
                Bound::Limited(limit) => limit.units().min(free),
                Bound::Unlimited => free,
            };
            ceilings[(at, column)] = capability.min(tree.request[(*queue, column)].units());
        }
    }
    ceilings
}
