//! The rounds of Volcano's `proportion` (DIVISION appendix C): capped slot by slot, with guarantees.

use std::cmp::{Ordering, Reverse};

use crate::decimal::Amount;
use crate::division::exact::{apportion, first_of};
use crate::division::trace::{DivisionStep, DivisionTrace};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::queues::Bound;

/// The limit on steps (rounds x queues x slots) of one level. Each round gives away at least a fixed part of what is
/// left, so the rest is negligible when the rounds end here.
const MAX_STEPS: usize = 50_000_000;
const MIN_ROUNDS: usize = 64;

/// A unit of 10^-12 has this many parts. Rounds compute in parts, so that their rounding errors do not add up to a
/// unit.
const PARTS_PER_UNIT: u128 = 1 << 20;

/// Divides one level. Returns false if [`MAX_STEPS`] ended the rounds.
pub(super) fn divide(
    tree: &QueueTree,
    children: &[usize],
    total: &[u128],
    deserved: &mut QueueSlotGrid<Amount>,
    trace: &mut DivisionTrace,
) -> bool {
    let parts = if total.iter().all(|t| *t <= u128::MAX / PARTS_PER_UNIT / 4) { PARTS_PER_UNIT } else { 1 };
    let mut level = VolcanoLevel {
        tree,
        children,
        parts,
        left: total.iter().map(|t| t * parts).collect(),
        ceilings: upper_limits(tree, children, total),
        has: QueueSlotGrid::new(children.len(), total.len(), 0),
    };
    level.reserve(total, trace);
    let ended = level.run(trace);
    level.settle(deserved, trace);
    ended
}

/// One level in rounds. Amounts are in parts; `parts` of them are one unit of 10^-12.
struct VolcanoLevel<'a> {
    tree: &'a QueueTree,
    children: &'a [usize],
    parts: u128,
    left: Vec<u128>,
    /// In units of 10^-12, not in parts.
    ceilings: QueueSlotGrid<u128>,
    has: QueueSlotGrid<u128>,
}

impl VolcanoLevel<'_> {
    fn weight(&self, at: usize) -> u128 {
        self.tree.queues[self.children[at]].weight.units()
    }

    fn guarantee(&self, at: usize, column: usize) -> u128 {
        self.tree.guarantee[(self.children[at], column)].units()
    }

    /// Gives the queues of weight 0 their guarantees, because no round gives them anything.
    fn reserve(&mut self, total: &[u128], trace: &mut DivisionTrace) {
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
                    trace.push(|| DivisionStep { queue, column, rule: "guarantee", gift, ..DivisionStep::default() });
                }
            }
        }
    }

    fn run(&mut self, trace: &mut DivisionTrace) -> bool {
        let mut unmet: Vec<usize> = (0..self.children.len()).filter(|at| self.weight(*at) > 0).collect();
        let rounds = (MAX_STEPS / (self.children.len().max(1) * self.left.len().max(1))).max(MIN_ROUNDS);
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

    /// Runs one round on one slot. Returns the amount that it gave to each unmet queue.
    fn round(&mut self, round: u32, column: usize, unmet: &[usize], trace: &mut DivisionTrace) -> Vec<u128> {
        let (tree, children, parts, left) = (self.tree, self.children, self.parts, self.left[column]);
        let weights: Vec<u128> = unmet.iter().map(|at| self.weight(*at)).collect();
        let weight_sum = weights.iter().fold(0u128, |sum, w| sum.saturating_add(*w));
        let first = |a: usize, b: usize| tree.by_age(children[unmet[a]], children[unmet[b]]);
        let offers = apportion(left, &weights, first);
        let wishes: Vec<ResourceRequest> = unmet
            .iter()
            .zip(&offers)
            .map(|(at, offer)| {
                let ceiling = self.ceilings[(*at, column)] * parts;
                let guarantee = self.guarantee(*at, column).saturating_mul(parts);
                ResourceRequest::new(self.has[(*at, column)], *offer, ceiling, guarantee)
            })
            .collect();
        let mut gifts = steps_of_round(left, &wishes, first);
        let shifts = complete_by_last_digits(left, &wishes, &mut gifts, LAST_DIGITS * parts, first);
        for (i, gift) in gifts.iter().enumerate().filter(|(_, gift)| **gift > 0) {
            let has = &mut self.has[(unmet[i], column)];
            let shift = shifts.as_ref().map_or(RoundShift::default(), |shifts| shifts[i]);
            let offered = *has + gift - shift.got;
            // A step shows whole units of 10^-12: the units that the amount passed in this round, at most those of the
            // offer.
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
                    is_below_request: own < wishes[i].gift,
                    is_below_offer: own < offers[i],
                };
                trace.push(|| figures.step(tree, wishes[i].guaranteed));
            }
            let rest = (*has + gift) / parts - *has / parts - shown;
            *has += gift;
            if rest > 0 {
                let (queue, gift) = (children[unmet[i]], Amount::from_units(rest).into());
                trace.push(|| DivisionStep {
                    queue,
                    column: Some(column),
                    round,
                    rule: "last_digit",
                    gift,
                    ..DivisionStep::default()
                });
            }
        }
        self.left[column] -= gifts.iter().sum::<u128>();
        gifts
    }

    /// Rounds to whole units of 10^-12; the largest remainders are rounded up, so that the sum is the nearest one.
    fn settle(&self, deserved: &mut QueueSlotGrid<Amount>, trace: &mut DivisionTrace) {
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
                trace.push(|| DivisionStep {
                    queue,
                    column: Some(column),
                    rule: "last_digit",
                    gift,
                    ..DivisionStep::default()
                });
            }
        }
    }
}

/// The values of one gift that a trace shows.
struct RoundFigures {
    round: u32,
    cell: (usize, usize),
    divided: Amount,
    /// The queue's own weight, and the sum of weights.
    weight: (u128, u128),
    offer: Amount,
    gift: Amount,
    ceiling: Amount,
    is_below_request: bool,
    is_below_offer: bool,
}

impl RoundFigures {
    fn step(self, tree: &QueueTree, guaranteed: bool) -> DivisionStep {
        let Self { round, cell, divided, weight, offer, gift, ceiling, is_below_request, is_below_offer } = self;
        let step =
            DivisionStep { queue: cell.0, column: Some(cell.1), round, gift: gift.into(), ..DivisionStep::default() };
        if guaranteed {
            // A guarantee follows from no weight, so the step has neither weight nor offer.
            return DivisionStep { rule: "guarantee", capped_by: is_below_request.then(|| "capacity".into()), ..step };
        }
        let cap = if is_below_request || ceiling < tree.requestable(cell.0, cell.1) {
            "guarantees of others"
        } else if ceiling < tree.request[cell] {
            "limit"
        } else {
            "request"
        };
        DivisionStep {
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

/// The part of an offer that a queue takes.
struct ResourceRequest {
    gift: u128,
    /// The most that the queue may have, including what it has already.
    most: u128,
    has: u128,
    /// True if the guarantee of the queue asks for more than the offer.
    guaranteed: bool,
}

impl ResourceRequest {
    fn new(has: u128, offer: u128, ceiling: u128, guarantee: u128) -> Self {
        let capped = has.saturating_add(offer).min(ceiling).max(has);
        Self { gift: capped.max(guarantee) - has, most: ceiling.max(guarantee), has, guaranteed: guarantee > capped }
    }

    fn missing_after(&self, gift: u128) -> u128 {
        self.most.saturating_sub(self.has + gift)
    }

    /// The amount that is missing after a gift, if rounding alone may explain it.
    fn missing(&self, gift: u128, last_digits: u128) -> Option<u128> {
        let missing = self.missing_after(gift);
        (missing > 0 && missing <= last_digits.min(self.most / ROUNDING_MIN_RATIO)).then_some(missing)
    }
}

/// 10^-9 in units of 10^-12. A parent's own rounding moves the amounts of its children by less than this.
const LAST_DIGITS: u128 = 1_000;
/// A missing amount counts as rounding only if the whole is at least this many times as large.
const ROUNDING_MIN_RATIO: u128 = 1_000_000;

/// The amount that a queue got in addition to its gift of a round, or gave up of it.
#[derive(Clone, Copy, Default)]
struct RoundShift {
    got: u128,
    gave: u128,
}

/// Completes queues that lack only a rounding difference: the difference comes from what no queue takes, otherwise from
/// the largest gift among the queues that lack more. Without this, rounding would leave a queue below its request
/// although it deserves all of it.
fn complete_by_last_digits(
    left: u128,
    wishes: &[ResourceRequest],
    gifts: &mut [u128],
    last_digits: u128,
    first: impl Fn(usize, usize) -> Ordering,
) -> Option<Vec<RoundShift>> {
    let missing: Vec<Option<u128>> =
        wishes.iter().zip(&*gifts).map(|(wish, gift)| wish.missing(*gift, last_digits)).collect();
    let mut wanted = missing.iter().flatten().sum::<u128>();
    if wanted == 0 {
        return None;
    }
    let mut shifts = vec![RoundShift::default(); gifts.len()];
    let mut found = (left - gifts.iter().sum::<u128>()).min(wanted);
    wanted -= found;
    let mut givers: Vec<usize> = (0..gifts.len())
        .filter(|at| missing[*at].is_none() && wishes[*at].missing_after(gifts[*at]) > 0 && !wishes[*at].guaranteed)
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

/// Serves guarantees first, then the other queues. Each of the two is cut in proportion if there is not enough.
fn steps_of_round(left: u128, wishes: &[ResourceRequest], first: impl Fn(usize, usize) -> Ordering) -> Vec<u128> {
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

/// The most that each queue may have: the smallest of request, limit, and what the other queues' guarantees leave.
fn upper_limits(tree: &QueueTree, children: &[usize], total: &[u128]) -> QueueSlotGrid<u128> {
    let mut ceilings = QueueSlotGrid::new(children.len(), total.len(), 0);
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
