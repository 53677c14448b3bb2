//! Volcano's rounds of `proportion` (appendix C): capped slot by slot, with guarantees.

use std::cmp::{Ordering, Reverse};

use crate::decimal::Amount;
use crate::division::exact::{apportion, first_of};
use crate::division::trace::{Step, Trace};
use crate::division::tree::Tree;
use crate::division::tree::grid::Grid;
use crate::queues::Bound;

/// Rounds that take more steps than this in total are ended: each gives away a fixed part of what is left at least,
/// so only dust remains.
const STEPS: usize = 50_000_000;
const MIN_ROUNDS: usize = 64;

/// Rounds compute in parts of a last digit, so that their rounding does not add up to one.
const PARTS: u128 = 1 << 20;

/// Divides one level; false if the rounds had to be ended.
pub(super) fn divide(
    tree: &Tree,
    children: &[usize],
    total: &[u128],
    deserved: &mut Grid<Amount>,
    trace: &mut Trace,
) -> bool {
    let parts = if total.iter().all(|t| *t <= u128::MAX / PARTS / 4) { PARTS } else { 1 };
    let mut level = Level {
        tree,
        children,
        parts,
        left: total.iter().map(|t| t * parts).collect(),
        ceilings: ceilings(tree, children, total),
        has: Grid::new(children.len(), total.len(), 0),
    };
    level.reserve(total, trace);
    let ended = level.run(trace);
    level.settle(deserved, trace);
    ended
}

/// One level in rounds; amounts are in `parts` of a last digit.
struct Level<'a> {
    tree: &'a Tree,
    children: &'a [usize],
    parts: u128,
    left: Vec<u128>,
    /// In last digits.
    ceilings: Grid<u128>,
    has: Grid<u128>,
}

impl Level<'_> {
    fn weight(&self, at: usize) -> u128 {
        self.tree.queues[self.children[at]].weight.units()
    }

    fn guarantee(&self, at: usize, column: usize) -> u128 {
        self.tree.guarantee[(self.children[at], column)].units()
    }

    /// Gives the queues of weight 0 their guarantees, which no round would.
    fn reserve(&mut self, total: &[u128], trace: &mut Trace) {
        for (column, total) in total.iter().enumerate() {
            let mut parts: Vec<u128> = (0..self.children.len()).map(|at| self.guarantee(at, column)).collect();
            let sum = parts.iter().fold(0u128, |sum, g| sum.saturating_add(*g));
            if sum > *total {
                parts = apportion(*total, &parts, |a, b| self.tree.by_age(self.children[a], self.children[b]));
            }
            for (at, part) in parts.into_iter().enumerate().filter(|(_, part)| *part > 0) {
                if self.weight(at) == 0 {
                    self.has[(at, column)] = part * self.parts;
                    self.left[column] -= part * self.parts;
                    let (queue, gift) = (self.children[at], Amount::from_units(part).into());
                    let column = Some(column);
                    trace.push(|| Step { queue, column, rule: "guarantee", gift, ..Step::default() });
                }
            }
        }
    }

    fn run(&mut self, trace: &mut Trace) -> bool {
        let mut unmet: Vec<usize> = (0..self.children.len()).filter(|at| self.weight(*at) > 0).collect();
        let rounds = (STEPS / (self.children.len().max(1) * self.left.len().max(1))).max(MIN_ROUNDS);
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        for round in 1..=rounds {
            if unmet.is_empty() || self.left.iter().all(|l| *l <= self.parts / 2) {
                return true;
            }
            let (mut changed, mut complete) = (vec![false; unmet.len()], vec![true; unmet.len()]);
            for column in 0..self.left.len() {
                for (changed, gift) in changed.iter_mut().zip(self.round(round, column, &unmet, trace)) {
                    *changed |= gift > 0;
                }
                for (complete, at) in complete.iter_mut().zip(&unmet) {
                    let request = self.tree.request[(self.children[*at], column)].units();
                    *complete &= request.saturating_mul(self.parts) <= self.has[(*at, column)];
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

    /// One round on one slot. Returns what it gave.
    fn round(&mut self, round: u32, column: usize, unmet: &[usize], trace: &mut Trace) -> Vec<u128> {
        let (tree, children, parts, left) = (self.tree, self.children, self.parts, self.left[column]);
        let weights: Vec<u128> = unmet.iter().map(|at| self.weight(*at)).collect();
        let weight_sum = weights.iter().fold(0u128, |sum, w| sum.saturating_add(*w));
        let first = |a: usize, b: usize| tree.by_age(children[unmet[a]], children[unmet[b]]);
        let offers = apportion(left, &weights, first);
        let wishes: Vec<Wish> = unmet
            .iter()
            .zip(&offers)
            .map(|(at, offer)| {
                let ceiling = self.ceilings[(*at, column)] * parts;
                let guarantee = self.guarantee(*at, column).saturating_mul(parts);
                Wish::new(self.has[(*at, column)], *offer, ceiling, guarantee)
            })
            .collect();
        let mut gifts = gifts(left, &wishes, first);
        let shifts = complete_by_last_digits(left, &wishes, &mut gifts, LAST_DIGITS * parts, first);
        for (i, gift) in gifts.iter().enumerate().filter(|(_, gift)| **gift > 0) {
            let has = &mut self.has[(unmet[i], column)];
            let shift = shifts.as_ref().map_or(Shift::default(), |shifts| shifts[i]);
            let offered = *has + gift - shift.got;
            // What is shown are whole last digits: those that were passed, of the offer no more than it has.
            let offer = offers[i] / parts;
            let shown = (offered / parts - *has / parts).min(if wishes[i].guaranteed { u128::MAX } else { offer });
            if shown > 0 {
                let own = gift - shift.got + shift.gave;
                let figures = RoundFigures {
                    round,
                    cell: (children[unmet[i]], column),
                    divided: Amount::from_units(left / parts),
                    weight: (weights[i], weight_sum),
                    offer: Amount::from_units(offer),
                    gift: Amount::from_units(shown),
                    ceiling: Amount::from_units(self.ceilings[(unmet[i], column)]),
                    is_below_wish: own < wishes[i].gift,
                    is_below_offer: own < offers[i],
                };
                trace.push(|| figures.step(tree, wishes[i].guaranteed));
            }
            let rest = (*has + gift) / parts - *has / parts - shown;
            *has += gift;
            if rest > 0 {
                let (queue, gift) = (children[unmet[i]], Amount::from_units(rest).into());
                trace.push(|| Step { queue, column: Some(column), round, rule: "last_digit", gift, ..Step::default() });
            }
        }
        self.left[column] -= gifts.iter().sum::<u128>();
        gifts
    }

    /// Whole last digits, the largest remainders rounded up, so that the sum is the nearest.
    fn settle(&self, deserved: &mut Grid<Amount>, trace: &mut Trace) {
        let (tree, children, parts) = (self.tree, self.children, self.parts);
        for column in 0..self.left.len() {
            let (mut remainders, mut sum) = (Vec::new(), 0u128);
            for (at, queue) in children.iter().enumerate() {
                let (whole, rest) = (self.has[(at, column)] / parts, self.has[(at, column)] % parts);
                deserved[(*queue, column)] = Amount::from_units(whole);
                sum += rest;
                if rest > 0 {
                    remainders.push((Reverse(rest), at));
                }
            }
            let order = |a: &(Reverse<u128>, usize), b: &(Reverse<u128>, usize)| {
                a.0.cmp(&b.0).then_with(|| tree.by_age(children[a.1], children[b.1]))
            };
            for (_, at) in first_of(&mut remainders, (sum + parts / 2) / parts, order) {
                let (queue, gift) = (children[*at], Amount::from_units(1).into());
                deserved[(queue, column)] = Amount::from_units(deserved[(queue, column)].units() + 1);
                trace.push(|| Step { queue, column: Some(column), rule: "last_digit", gift, ..Step::default() });
            }
        }
    }
}

/// What a trace tells of one gift.
struct RoundFigures {
    round: u32,
    cell: (usize, usize),
    divided: Amount,
    /// Own, and the sum.
    weight: (u128, u128),
    offer: Amount,
    gift: Amount,
    ceiling: Amount,
    is_below_wish: bool,
    is_below_offer: bool,
}

impl RoundFigures {
    fn step(self, tree: &Tree, guaranteed: bool) -> Step {
        let Self { round, cell, divided, weight, offer, gift, ceiling, is_below_wish, is_below_offer } = self;
        let step = Step { queue: cell.0, column: Some(cell.1), round, gift: gift.into(), ..Step::default() };
        if guaranteed {
            // It follows from no weight.
            return Step { rule: "guarantee", capped_by: is_below_wish.then(|| "capacity".into()), ..step };
        }
        let cap = if is_below_wish || ceiling < tree.requestable(cell.0, cell.1) {
            "guarantees of others"
        } else if ceiling < tree.request[cell] {
            "limit"
        } else {
            "request"
        };
        Step {
            rule: "by_weight",
            divided: Some(divided),
            weight: Some(Amount::from_units(weight.0)),
            weight_sum: Some(Amount::from_units(weight.1)),
            offer: Some(offer),
            capped_by: is_below_offer.then(|| cap.into()),
            ..step
        }
    }
}

/// What a queue takes of an offer.
struct Wish {
    gift: u128,
    /// All that it may have, of which it has some.
    most: u128,
    has: u128,
    /// Whether its guarantee asks for more than the offer.
    guaranteed: bool,
}

impl Wish {
    fn new(has: u128, offer: u128, ceiling: u128, guarantee: u128) -> Self {
        let capped = has.saturating_add(offer).min(ceiling).max(has);
        Self { gift: capped.max(guarantee) - has, most: ceiling.max(guarantee), has, guaranteed: guarantee > capped }
    }

    fn lacks(&self, gift: u128) -> u128 {
        self.most.saturating_sub(self.has + gift)
    }

    /// What is missing beside a gift, if it is no more than rounding may have moved.
    fn missing(&self, gift: u128, last_digits: u128) -> Option<u128> {
        let missing = self.lacks(gift);
        (missing > 0 && missing <= last_digits.min(self.most / SMALL)).then_some(missing)
    }
}

/// 10^-9: above what a parent's own last digit may move below it.
const LAST_DIGITS: u128 = 1_000;
/// Nothing is a last digit of less than this many times as much.
const SMALL: u128 = 1_000_000;

/// What a queue got beside its gift of a round, or gave of it.
#[derive(Clone, Copy, Default)]
struct Shift {
    got: u128,
    gave: u128,
}

/// A queue that would get all that it may have but for the last digits gets these too: from what no queue takes, else
/// from the largest gift among the queues that lack more. Without this, rounding would leave a queue below its request
/// that deserves all of it.
fn complete_by_last_digits(
    left: u128,
    wishes: &[Wish],
    gifts: &mut [u128],
    last_digits: u128,
    first: impl Fn(usize, usize) -> Ordering,
) -> Option<Vec<Shift>> {
    let missing: Vec<Option<u128>> =
        wishes.iter().zip(&*gifts).map(|(wish, gift)| wish.missing(*gift, last_digits)).collect();
    let mut wanted = missing.iter().flatten().sum::<u128>();
    if wanted == 0 {
        return None;
    }
    let mut shifts = vec![Shift::default(); gifts.len()];
    let mut found = (left - gifts.iter().sum::<u128>()).min(wanted);
    wanted -= found;
    let mut givers: Vec<usize> = (0..gifts.len())
        .filter(|at| missing[*at].is_none() && wishes[*at].lacks(gifts[*at]) > 0 && !wishes[*at].guaranteed)
        .collect();
    givers.sort_unstable_by(|a, b| gifts[*b].cmp(&gifts[*a]).then_with(|| first(*a, *b)));
    for at in givers {
        let gave = gifts[at].min(wanted);
        gifts[at] -= gave;
        shifts[at].gave = gave;
        wanted -= gave;
        found += gave;
    }
    let mut takers: Vec<usize> = (0..gifts.len()).filter(|at| missing[*at].is_some()).collect();
    takers.sort_unstable_by(|a, b| first(*a, *b));
    for at in takers {
        let got = missing[at].unwrap_or_default().min(found);
        gifts[at] += got;
        shifts[at].got = got;
        found -= got;
    }
    Some(shifts)
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
