//! Volcano's rounds of `proportion` (appendix C): capped slot by slot, with guarantees.

use std::cmp::Ordering;

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
            let first = |a: usize, b: usize| tree.by_age(children[unmet[a]], children[unmet[b]]);
            let offers = apportion(*left, &weights, first);
            let wishes: Vec<Wish> = unmet
                .iter()
                .zip(&offers)
                .map(|(at, offer)| {
                    let cell = (children[*at], column);
                    Wish::new(deserved[cell], *offer, ceilings[(*at, column)], tree.guarantee[cell])
                })
                .collect();
            let gifts = gifts(*left, &wishes, first);
            let given: u128 = gifts.iter().sum();
            for (i, gift) in gifts.into_iter().enumerate().filter(|(_, gift)| *gift > 0) {
                let cell = (children[unmet[i]], column);
                changed[i] = true;
                deserved[cell] = Amount::from_units(deserved[cell].units() + gift);
                trace.push(|| Step {
                    queue: cell.0,
                    column: Some(column),
                    rule: if wishes[i].guaranteed { "guarantee" } else { "by_weight" },
                    round,
                    divided: Some(Amount::from_units(*left)),
                    weight: Some(Amount::from_units(weights[i])),
                    weight_sum: Some(Amount::from_units(weight_sum)),
                    offer: Some(Amount::from_units(offers[i])),
                    gift: Amount::from_units(gift),
                    capped_by: (gift < offers[i]).then(|| "request or limit".into()),
                    ..Step::default()
                });
            }
            *left -= given;
            for (complete, at) in complete.iter_mut().zip(&unmet) {
                let cell = (children[*at], column);
                *complete &= tree.request[cell] <= deserved[cell];
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

/// What a queue takes of an offer.
struct Wish {
    gift: u128,
    /// Whether its guarantee asks for more than the offer.
    guaranteed: bool,
}

impl Wish {
    fn new(has: Amount, offer: u128, ceiling: u128, guarantee: Amount) -> Self {
        let has = has.units();
        let capped = has.saturating_add(offer).min(ceiling).max(has);
        Self { gift: capped.max(guarantee.units()) - has, guaranteed: guarantee.units() > capped }
    }
}

/// Guarantees first, then the others; either is cut in proportion when there is not enough.
fn gifts(left: u128, wishes: &[Wish], first: impl Fn(usize, usize) -> Ordering) -> Vec<u128> {
    let of = |guaranteed: bool| -> Vec<u128> {
        wishes.iter().map(|w| if w.guaranteed == guaranteed { w.gift } else { 0 }).collect()
    };
    let cut = |gifts: Vec<u128>, left: u128| {
        let sum = gifts.iter().fold(0u128, |sum, g| sum.saturating_add(*g));
        if sum > left { (apportion(left, &gifts, &first), left) } else { (gifts, sum) }
    };
    let (guaranteed, given) = cut(of(true), left);
    let (others, _) = cut(of(false), left - given);
    guaranteed.into_iter().zip(others).map(|(g, o)| g + o).collect()
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
