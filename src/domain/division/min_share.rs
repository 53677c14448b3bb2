//! `min_share` (§3, YTsaurus): one ratio for each queue, with minimum shares, weights and demand.

use std::cmp::Ordering;

use super::exact::{apportion, cmp_products, mul_div, mul_div_up, raise_first};
use super::options::{Options, Rule};
use super::queue::{Bound, QueueMode};
use super::sweep::{Member, solve};
use super::trace::{Step, Trace};
use super::{Algorithm, Grid, Ratios, Shares, Tree, remaining};
use crate::domain::decimal::Amount;

/// Ratios have 18 places while they are divided.
const ONE: u128 = FINER * Amount::whole(1).units();
const FINER: u128 = 1_000_000;

pub(super) struct MinShare;

impl Algorithm for MinShare {
    fn name(&self) -> &'static str {
        "min_share"
    }

    fn divide(&self, tree: &Tree, options: &Options, trace: &mut Trace) -> Shares {
        let standings: Vec<Standing> = (0..tree.len()).map(|q| Standing::of(tree, q)).collect();
        let fair = divide_ratios(tree, options.rule, |q| standings[q].upper, trace);
        let guaranteed = divide_ratios(tree, options.rule, |_| ONE, &mut Trace::off());
        let fair_share = to_amounts(tree, &fair, &standings);
        let ratios = (0..tree.len())
            .map(|q| Ratios {
                usage: shown(standings[q].usage),
                demand: shown(standings[q].demand),
                fair_share: shown(fair[q]),
                guaranteed: shown(guaranteed[q]),
            })
            .collect();
        Shares { remaining: remaining(tree, &fair_share), fair_share, ratios: Some(ratios), warnings: Vec::new() }
    }
}

/// A queue as one number of each kind.
struct Standing {
    dominant: Option<usize>,
    usage: u128,
    demand: u128,
    /// Demand, cut by the limits of the slots that are wanted.
    upper: u128,
}

impl Standing {
    fn of(tree: &Tree, queue: usize) -> Self {
        let (allocated, request) = (tree.allocated.row(queue), tree.request.row(queue));
        let dominant = dominant(allocated, &tree.capacity).or_else(|| dominant(request, &tree.capacity));
        let ratio = |amount: Amount, column: usize| mul_div_up(amount.units(), ONE, tree.capacity[column].units());
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
                    _ => mul_div(limit.units(), ONE, capacity).0,
                };
                upper = upper.min(limit);
            }
        }
        Self { dominant, usage: of_dominant(allocated), demand, upper }
    }
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

fn divide_ratios(tree: &Tree, rule: Rule, upper: impl Fn(usize) -> u128, trace: &mut Trace) -> Vec<u128> {
    let mut ratios = vec![0; tree.len()];
    for level in tree.levels() {
        let total = level.map_or(ONE, |q| ratios[q]);
        let children = tree.children(level);
        if level.is_some_and(|q| tree.queues[q].mode == QueueMode::Fifo) {
            serve_in_order(tree, children, total, &upper, &mut ratios, trace);
            continue;
        }
        let mut members: Vec<Member> = children
            .iter()
            .map(|q| Member {
                weight: tree.queues[*q].weight.units(),
                lower: tree.queues[*q].min_share_ratio.units() * FINER,
                upper: upper(*q).min(total),
            })
            .collect();
        scale_lower_limits(&mut members, total, |a, b| tree.by_age(children[a], children[b]));
        let solved = solve(total, &members, rule, |a, b| tree.by_age(children[a], children[b]));
        for (at, queue) in children.iter().enumerate() {
            ratios[*queue] = solved.shares[at];
            trace.push(|| {
                let member = &members[at];
                let (weight, share) = (member.weight, solved.shares[at]);
                let by_weight = solved.by_weight(at);
                Step {
                    queue: *queue,
                    rule: match (by_weight, share == member.upper) {
                        (true, _) => "by_weight",
                        (false, true) => "demand",
                        (false, false) => "min_share",
                    },
                    weight: by_weight.then_some(Amount::from_units(weight)),
                    weight_sum: by_weight.then_some(Amount::from_units(solved.weight_sum)),
                    divided: by_weight.then_some(shown(solved.divided)),
                    gift: shown(share),
                    ..Step::default()
                }
            });
        }
    }
    ratios
}

/// Lower limits that together exceed the total are scaled by one factor to it.
fn scale_lower_limits(members: &mut [Member], total: u128, first: impl Fn(usize, usize) -> Ordering) {
    let lower: Vec<u128> = members.iter().map(|m| m.lower).collect();
    if lower.iter().fold(0u128, |sum, l| sum.saturating_add(*l)) > total {
        for (member, scaled) in members.iter_mut().zip(apportion(total, &lower, first)) {
            member.lower = scaled;
        }
    }
}

/// A `fifo` queue: by priority, weight, age, input order, each to its demand; minimum shares do not count.
fn serve_in_order(
    tree: &Tree,
    children: &[usize],
    mut left: u128,
    upper: impl Fn(usize) -> u128,
    ratios: &mut [u128],
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
        trace.push(|| Step { queue, rule: "fifo", gift: shown(share), ..Step::default() });
    }
}

/// Ratio x capacity on every slot; what rounding down leaves goes to the largest remainders, so that children who
/// share all of their parent's ratio share all of its amounts.
fn to_amounts(tree: &Tree, ratios: &[u128], standings: &[Standing]) -> Grid<Amount> {
    let mut amounts = Grid::new(tree.len(), tree.slots.len(), Amount::ZERO);
    for level in tree.levels() {
        let children = tree.children(level);
        let sum: u128 = children.iter().map(|q| ratios[*q]).sum();
        let all = sum == level.map_or(ONE, |q| ratios[q]);
        for column in 0..tree.slots.len() {
            let capacity = tree.capacity[column].units();
            let given = level.map_or(capacity, |q| amounts[(q, column)].units());
            let mut left = if all { given } else { mul_div(sum, capacity, ONE).0.min(given) };
            let (mut parts, mut remainders) = (Vec::with_capacity(children.len()), Vec::new());
            for (at, queue) in children.iter().enumerate() {
                let (part, remainder) = mul_div(ratios[*queue], capacity, ONE);
                let standing = &standings[*queue];
                // A met demand was rounded up to a ratio; its slot shows the demand itself.
                let met = standing.dominant == Some(column) && ratios[*queue] >= standing.upper;
                let ceiling = if met { tree.requestable(*queue, column).units() } else { u128::MAX };
                let part = part.min(left).min(ceiling);
                if remainder > 0 && part < ceiling {
                    remainders.push((remainder, at));
                }
                left -= part;
                parts.push(part);
            }
            raise_first(&mut parts, remainders, left, |a, b| {
                b.0.cmp(&a.0).then_with(|| tree.by_age(children[a.1], children[b.1]))
            });
            for (queue, part) in children.iter().zip(parts) {
                amounts[(*queue, column)] = Amount::from_units(part);
            }
        }
    }
    amounts
}

fn shown(ratio: u128) -> Amount {
    Amount::from_units(ratio.saturating_add(FINER / 2) / FINER)
}
