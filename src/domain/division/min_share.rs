//! `min_share` (§3, YTsaurus): one ratio for each queue, with minimum shares, weights and demand.

use std::cmp::Ordering;

use super::exact::{apportion, cmp_products, first_of, greatest_common_divisor, mul_div, mul_div_up};
use super::options::{Options, Rule};
use super::queue::{Bound, QueueMode};
use super::sweep::{Member, Solver};
use super::trace::{Step, Trace};
use super::{Algorithm, Grid, Ratios, Shares, Tree, remaining};
use crate::domain::decimal::Amount;

/// Ratios have 18 places while they are divided.
const ONE: u64 = 1_000_000_000_000_000_000;
const FINER: u64 = 1_000_000;

pub(super) struct MinShare;

impl Algorithm for MinShare {
    fn name(&self) -> &'static str {
        "min_share"
    }

    fn divide(&self, tree: &Tree, options: &Options, trace: &mut Trace) -> Shares {
        let mut ratios = Vec::with_capacity(tree.len());
        let mut standings = Vec::with_capacity(tree.len());
        for queue in 0..tree.len() {
            let (standing, usage, demand) = observe(tree, queue);
            standings.push(standing);
            ratios.push(Ratios { usage: shown(usage), demand: shown(demand), ..Ratios::default() });
        }
        let [fair, guaranteed] = divide_ratios(tree, options.rule, &standings, trace);
        for (at, ratios) in ratios.iter_mut().enumerate() {
            (ratios.fair_share, ratios.guaranteed) = (shown(fair[at].into()), shown(guaranteed[at].into()));
        }
        let fair_share = to_amounts(tree, &fair, &standings);
        Shares { remaining: remaining(tree, &fair_share), fair_share, ratios: Some(ratios), warnings: Vec::new() }
    }
}

/// What a queue may have, as one number.
struct Standing {
    dominant: Option<usize>,
    /// Demand, cut by the limits of the slots that are wanted, and at 1.
    upper: u64,
}

/// The queue's standing, its usage and its demand.
fn observe(tree: &Tree, queue: usize) -> (Standing, u128, u128) {
    let (allocated, request) = (tree.allocated.row(queue), tree.request.row(queue));
    let dominant = dominant(allocated, &tree.capacity).or_else(|| dominant(request, &tree.capacity));
    let ratio = |amount: Amount, column: usize| mul_div_up(amount.units(), ONE.into(), tree.capacity[column].units());
    let of_dominant = |row: &[Amount]| dominant.map_or(0, |column| ratio(row[column], column));
    let demand = of_dominant(request);
    let mut upper = demand;
    for (column, wanted) in request.iter().enumerate() {
        let capacity = tree.capacity[column].units();
        if let Bound::Limited(limit) = tree.limit[(queue, column)]
            && capacity > 0
            && !wanted.is_zero()
        {
            let limit = match dominant {
                Some(dominant) if dominant == column => ratio(limit, column),
                _ => mul_div(limit.units(), ONE.into(), capacity).0,
            };
            upper = upper.min(limit);
        }
    }
    let upper = u64::try_from(upper).unwrap_or(ONE).min(ONE);
    (Standing { dominant, upper }, of_dominant(allocated), demand)
}

/// The slot of which the row holds the largest part.
fn dominant(row: &[Amount], capacity: &[Amount]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (column, amount) in row.iter().enumerate() {
        let larger = |b: usize| {
            let (mine, theirs) = ((amount.units(), capacity[b].units()), (row[b].units(), capacity[column].units()));
            cmp_products(mine.0, mine.1, theirs.0, theirs.1) == Ordering::Greater
        };
        if !amount.is_zero() && !capacity[column].is_zero() && best.is_none_or(larger) {
            best = Some(column);
        }
    }
    best
}

/// The fair shares, and what they would be if everybody wanted everything.
fn divide_ratios(tree: &Tree, rule: Rule, standings: &[Standing], trace: &mut Trace) -> [Vec<u64>; 2] {
    let mut shares = [vec![0; tree.len()], vec![0; tree.len()]];
    let (mut solver, mut weights, mut lower) = (Solver::default(), Vec::new(), Vec::new());
    for level in tree.levels() {
        let children = tree.children(level);
        let is_fifo = level.is_some_and(|q| tree.queues[q].mode == QueueMode::Fifo);
        let divisor = common_weights(tree, children, &mut weights);
        for (ratios, is_fair) in shares.iter_mut().zip([true, false]) {
            let total = level.map_or(ONE, |q| ratios[q]);
            let upper = |queue: usize| if is_fair { standings[queue].upper } else { ONE };
            let mut off = Trace::off();
            let trace = if is_fair { &mut *trace } else { &mut off };
            if is_fifo {
                serve_in_order(tree, children, total, upper, ratios, trace);
                continue;
            }
            lower_limits(tree, children, total, &mut lower);
            solver.members.clear();
            solver.members.extend(children.iter().zip(&weights).zip(&lower).map(|((queue, weight), lower)| Member {
                weight: *weight,
                lower: *lower,
                upper: upper(*queue).min(total),
            }));
            solver.solve(total, rule, |a, b| tree.by_age(children[a], children[b]));
            for (queue, share) in children.iter().zip(&solver.shares) {
                ratios[*queue] = *share;
            }
            if trace.is_on() {
                record(children, |queue| upper(queue).min(total), &solver, (&weights, divisor), trace);
            }
        }
    }
    shares
}

/// The children's weights over their greatest common divisor, which is answered.
fn common_weights(tree: &Tree, children: &[usize], weights: &mut Vec<u64>) -> u64 {
    weights.clear();
    let mut divisor = 0;
    for queue in children {
        // The tree admits no weight that does not fit.
        let weight = u64::try_from(tree.queues[*queue].weight.units()).unwrap_or(u64::MAX);
        divisor = greatest_common_divisor(weight, divisor);
        weights.push(weight);
    }
    if divisor > 1 {
        for weight in weights {
            *weight /= divisor;
        }
    }
    divisor
}

/// Lower limits that together exceed the total are scaled by one factor to it.
fn lower_limits(tree: &Tree, children: &[usize], total: u64, limits: &mut Vec<u64>) {
    let lower = |queue: &usize| tree.queues[*queue].min_share_ratio.units() * u128::from(FINER);
    let sum = children.iter().fold(0u128, |sum, queue| sum.saturating_add(lower(queue)));
    let cut = |limit: u128| u64::try_from(limit).unwrap_or(total);
    limits.clear();
    if sum <= u128::from(total) {
        limits.extend(children.iter().map(|queue| cut(lower(queue))));
        return;
    }
    let lower: Vec<u128> = children.iter().map(lower).collect();
    let scaled = apportion(total.into(), &lower, |a, b| tree.by_age(children[a], children[b]));
    limits.extend(scaled.into_iter().map(cut));
}

fn record(
    children: &[usize],
    upper: impl Fn(usize) -> u64,
    solver: &Solver,
    (weights, divisor): (&[u64], u64),
    trace: &mut Trace,
) {
    let of_weight = |weight: u128| Amount::from_units(weight.saturating_mul(divisor.into()));
    for (at, queue) in children.iter().enumerate() {
        let share = solver.shares[at];
        let is_met = share == upper(*queue);
        let by_weight = solver.by_weight(at) && !is_met;
        trace.push(|| Step {
            queue: *queue,
            rule: match (by_weight, is_met) {
                (true, _) => "by_weight",
                (false, true) => "demand",
                (false, false) => "min_share",
            },
            weight: by_weight.then(|| of_weight(weights[at].into())),
            weight_sum: by_weight.then(|| of_weight(solver.weight_sum)),
            divided: by_weight.then(|| shown(solver.divided.into())),
            gift: shown(share.into()),
            ..Step::default()
        });
    }
}

/// A `fifo` queue: by priority, weight, age, input order, each to its demand; minimum shares do not count.
fn serve_in_order(
    tree: &Tree,
    children: &[usize],
    mut left: u64,
    upper: impl Fn(usize) -> u64,
    ratios: &mut [u64],
    trace: &mut Trace,
) {
    let mut order = children.to_vec();
    order.sort_by(|a, b| {
        let (a, b) = (&tree.queues[*a], &tree.queues[*b]);
        b.priority.cmp(&a.priority).then(b.weight.cmp(&a.weight)).then(a.created_at.cmp(&b.created_at))
    });
    for queue in order {
        let share = upper(queue).min(left);
        ratios[queue] = share;
        left -= share;
        trace.push(|| Step { queue, rule: "fifo", gift: shown(share.into()), ..Step::default() });
    }
}

/// Ratio x capacity on every slot; what rounding down leaves goes to the largest remainders, so that children who
/// share all of their parent's ratio share all of its amounts.
fn to_amounts(tree: &Tree, ratios: &[u64], standings: &[Standing]) -> Grid<Amount> {
    let one = u128::from(ONE);
    let mut amounts = Grid::new(tree.len(), tree.slots.len(), Amount::ZERO);
    let mut remainders: Vec<(u128, usize)> = Vec::new();
    for level in tree.levels() {
        let children = tree.children(level);
        let sum: u128 = children.iter().map(|q| u128::from(ratios[*q])).sum();
        let all = sum == level.map_or(one, |q| ratios[q].into());
        for column in 0..tree.slots.len() {
            let capacity = tree.capacity[column].units();
            let given = level.map_or(capacity, |q| amounts[(q, column)].units());
            let mut left = if all { given } else { mul_div(sum, capacity, one).0.min(given) };
            remainders.clear();
            for queue in children.iter().copied() {
                let (part, remainder) = mul_div(ratios[queue].into(), capacity, one);
                let standing = &standings[queue];
                // A met demand was rounded up to a ratio; its slot shows the demand itself.
                let met = standing.dominant == Some(column) && ratios[queue] >= standing.upper;
                let ceiling = if met { tree.requestable(queue, column).units() } else { u128::MAX };
                let part = part.min(left).min(ceiling);
                if remainder > 0 && part < ceiling {
                    remainders.push((remainder, queue));
                }
                left -= part;
                amounts[(queue, column)] = Amount::from_units(part);
            }
            let order = |a: &(u128, usize), b: &(u128, usize)| b.0.cmp(&a.0).then_with(|| tree.by_age(a.1, b.1));
            for (_, queue) in first_of(&mut remainders, left, order) {
                let cell = &mut amounts[(*queue, column)];
                *cell = Amount::from_units(cell.units() + 1);
            }
        }
    }
    amounts
}

fn shown(ratio: u128) -> Amount {
    let finer = u128::from(FINER);
    Amount::from_units(match u64::try_from(ratio) {
        // Almost always; dividing 128 bits takes ten times as long.
        Ok(ratio) => u128::from(ratio.saturating_add(FINER / 2) / FINER),
        Err(_) => ratio.saturating_add(finer / 2) / finer,
    })
}
