//! `min_share` (DIVISION §3, YTsaurus): one ratio for each queue, with minimum shares, weights and demand.

mod sweep;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Algorithm, Ratios, Shares, Weighs, remaining};
use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::exact::{apportion, cmp_products, first_of, greatest_common_divisor, mul_div, mul_div_up};
use crate::division::trace::{Step, Trace};
use crate::division::tree::Tree;
use crate::division::tree::grid::Grid;
use crate::division::tree::warning::Warning;
use crate::flat::Part;
use crate::option_facts::{OptionFacts, OptionValues};
use crate::parallel::{both_of, each, large_parts};
use crate::queues::{Bound, QueueMode};
use sweep::{Member, Solver};

/// The ratio 1: ratios have 18 decimal places while they are divided, and 12 in the result.
const ONE: u64 = 1_000_000_000_000_000_000;
const FINER: u64 = 1_000_000;

choices! {
    /// How a minimum share and a weight combine under `min_share` (DIVISION §3).
    #[derive(Default)]
    #[schema(as = MinShareRule)]
    pub enum Rule {
        #[default]
        Floor = "floor", "The share is at least the smallest share.";
        OnTop = "on_top", "What the smallest shares leave is divided on top of them.";
    }
}

/// The options of this algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub rule: Rule,
}

impl Part for Options {
    fn facts() -> Vec<OptionFacts> {
        let said = "How smallest shares and weights come together.";
        vec![OptionFacts::new("rule", "Rule of smallest shares", OptionValues::Choice(Rule::choices), said)]
    }
}

pub(super) struct MinShare;

impl Algorithm for MinShare {
    fn name(&self) -> &'static str {
        "min_share"
    }

    fn summary(&self) -> &'static str {
        "By weight, with a smallest share for each queue."
    }

    fn divide(&self, tree: &Tree, options: &super::Options, trace: &mut Trace) -> Shares {
        let observed = each(tree.len(), |queue| Observed::of(tree, queue));
        let [fair, guaranteed] = divide_ratios(tree, options.min_share.rule, &observed, trace);
        let warnings = scaled_min_shares(tree, &fair, &observed);
        let fair_share = to_amounts(tree, &fair, &observed);
        let ratios = observed.iter().zip(&fair).zip(&guaranteed).map(|((observed, fair), guaranteed)| Ratios {
            usage: shown(observed.usage),
            demand: shown(observed.demand),
            fair_share: shown((*fair).into()),
            guaranteed: shown((*guaranteed).into()),
        });
        let ratios = Some(ratios.collect());
        Shares { remaining: remaining(tree, &fair_share), fair_share, ratios, warnings }
    }

    fn reads_min_shares(&self) -> bool {
        true
    }

    fn weighs(&self, tree: &Tree, _: &super::Options, queue: usize) -> Weighs {
        let is_fifo = tree.queues[queue].parent.is_some_and(|parent| tree.queues[parent].mode == QueueMode::Fifo);
        if is_fifo { Weighs::Neither } else { Weighs::Weight }
    }
}

/// The usage and the demand of a queue, and the most that it may have, as ratios of the group.
struct Observed {
    usage: u128,
    demand: u128,
    dominant: Option<usize>,
    /// The demand, cut by the limits of the slots that the queue asks for, and at most [`ONE`].
    upper: u64,
    /// The column whose limit determines `upper`.
    limit: Option<usize>,
    /// True if `upper` is [`ONE`] because demand and limits are above it.
    is_whole: bool,
}

impl Observed {
    fn of(tree: &Tree, queue: usize) -> Self {
        let (allocated, request) = (tree.allocated.row(queue), tree.request.row(queue));
        let dominant = dominant(allocated, &tree.capacity).or_else(|| dominant(request, &tree.capacity));
        let ratio =
            |amount: Amount, column: usize| mul_div_up(amount.units(), ONE.into(), tree.capacity[column].units());
        let of_dominant = |row: &[Amount]| dominant.map_or(0, |column| ratio(row[column], column));
        let demand = of_dominant(request);
        let (mut upper, mut limited) = (demand, None);
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
                if limit < upper {
                    (upper, limited) = (limit, Some(column));
                }
            }
        }
        let is_whole = upper > u128::from(ONE);
        let upper = u64::try_from(upper).unwrap_or(ONE).min(ONE);
        Self { usage: of_dominant(allocated), demand, dominant, upper, limit: limited, is_whole }
    }
}

/// The column on which the row holds the largest part of the capacity.
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

/// The fair shares, and the guaranteed shares: those that would result if every queue asked for everything.
fn divide_ratios(tree: &Tree, rule: Rule, observed: &[Observed], trace: &mut Trace) -> [Vec<u64>; 2] {
    let levels = Levels { tree, rule, observed, weights: common_weights(tree) };
    let guaranteed = || levels.divide(|_| ONE, &mut Trace::off());
    let fair = || levels.divide(|queue| observed[queue].upper, trace);
    let (guaranteed, fair) = both_of(tree.len(), guaranteed, fair);
    [fair, guaranteed]
}

/// The inputs that the division of every level shares.
struct Levels<'a> {
    tree: &'a Tree,
    rule: Rule,
    observed: &'a [Observed],
    weights: Weights,
}

impl Levels<'_> {
    /// Divides all levels from the roots down. No queue gets more than its `upper`.
    fn divide(&self, upper: impl Fn(usize) -> u64, trace: &mut Trace) -> Vec<u64> {
        let Self { tree, rule, observed, .. } = *self;
        let mut ratios = vec![0; tree.len()];
        let (mut solver, mut lower, mut start) = (Solver::default(), Vec::new(), 0);
        for (level, divisor) in tree.levels().zip(self.weights.divisors.iter().copied()) {
            let children = tree.children(level);
            let weights = &self.weights.reduced[start..start + children.len()];
            start += children.len();
            let total = level.map_or(ONE, |q| ratios[q]);
            if level.is_some_and(|q| tree.queues[q].mode == QueueMode::Fifo) {
                serve_in_order((tree, children, observed), total, &upper, &mut ratios, trace);
                continue;
            }
            lower_limits(tree, children, total, &mut lower);
            solver.members.clear();
            solver.members.extend(children.iter().zip(weights).zip(&lower).map(|((queue, weight), lower)| Member {
                weight: *weight,
                lower: *lower,
                upper: upper(*queue).min(total),
            }));
            solver.solve(total, rule, |a, b| tree.by_age(children[a], children[b]));
            for (queue, share) in children.iter().zip(&solver.shares) {
                ratios[*queue] = *share;
            }
            if trace.is_on() {
                let level_shares = LevelShares { tree, children, observed, total, lower: &lower, weights, divisor };
                level_shares.record(rule, &solver, trace);
            }
        }
        ratios
    }
}

/// The weights of the children of all levels.
#[derive(Default)]
struct Weights {
    /// Weights divided by the greatest common divisor of their level; the levels follow each other.
    reduced: Vec<u64>,
    /// The greatest common divisor of each level.
    divisors: Vec<u64>,
}

fn common_weights(tree: &Tree) -> Weights {
    let mut weights = Weights::default();
    for level in tree.levels() {
        let start = weights.reduced.len();
        let mut divisor = 0;
        for queue in tree.children(level) {
            // `Tree::build` refuses weights that do not fit.
            let weight = u64::try_from(tree.queues[*queue].weight.units()).unwrap_or(u64::MAX);
            divisor = greatest_common_divisor(weight, divisor);
            weights.reduced.push(weight);
        }
        if divisor > 1 {
            for weight in &mut weights.reduced[start..] {
                *weight /= divisor;
            }
        }
        weights.divisors.push(divisor);
    }
    weights
}

/// Computes the lower limits of the children. If they exceed the total together, all are scaled down by one factor.
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

/// Warns about parents whose share is too small for the minimum shares of their children, as far as the children ask
/// for them.
fn scaled_min_shares(tree: &Tree, fair: &[u64], observed: &[Observed]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for parent in tree.levels().flatten().filter(|queue| tree.queues[*queue].mode == QueueMode::Fair) {
        let children = tree.children(Some(parent));
        let lower = |queue: &usize| tree.queues[*queue].min_share_ratio.units() * u128::from(FINER);
        let wanted = |queue: &usize| lower(queue).min(observed[*queue].upper.into());
        let share = u128::from(fair[parent]);
        if children.iter().map(wanted).sum::<u128>() > share {
            let ratios = children.iter().map(|child| tree.queues[*child].min_share_ratio);
            let sum = ratios.fold(Amount::ZERO, Amount::saturating_add);
            let detail = format!(
                "the minimum shares of its children add up to {sum}, above its share of {}, and were scaled down to it",
                shown(share)
            );
            warnings.push(Warning::new("min_shares_scaled", Some(tree.name(parent)), None, detail));
        }
    }
    warnings
}

/// The inputs and results of one level, from which its steps are recorded.
struct LevelShares<'a> {
    tree: &'a Tree,
    children: &'a [usize],
    observed: &'a [Observed],
    total: u64,
    /// Minimum shares, scaled down if together they exceed the total.
    lower: &'a [u64],
    weights: &'a [u64],
    divisor: u64,
}

impl LevelShares<'_> {
    fn record(&self, rule: Rule, solver: &Solver, trace: &mut Trace) {
        let ratio = |queue: &usize| self.tree.queues[*queue].min_share_ratio;
        let ratios = self.children.iter().map(ratio).fold(Amount::ZERO, Amount::saturating_add);
        let is_scaled = ratios.units() * u128::from(FINER) > u128::from(self.total);
        let of_weight = |weight: u128| Amount::from_units(weight.saturating_mul(self.divisor.into()));
        for (at, queue) in self.children.iter().copied().enumerate() {
            let (share, ceiling) = (solver.shares[at], &self.observed[queue]);
            let step = Step { queue, gift: shown(share.into()).into(), ..Step::default() };
            if share == ceiling.upper.min(self.total) {
                let (rule, bound) = match share {
                    share if share < ceiling.upper => ("parent", "parent's share".into()),
                    _ => bound(self.tree, queue, ceiling),
                };
                let capped_by = (bound != "request").then_some(bound);
                trace.push(|| Step { rule, capped_by, ..step });
                continue;
            }
            let by_weight = solver.by_weight(at);
            let minimum = match (by_weight, rule) {
                (false, _) => share,
                (true, Rule::OnTop) => self.lower[at],
                (true, Rule::Floor) => 0,
            };
            if minimum > 0 || !by_weight {
                let is_scaled = is_scaled && minimum > 0;
                trace.push(|| Step {
                    rule: "min_share",
                    divided: is_scaled.then(|| shown(self.total.into())),
                    weight: is_scaled.then(|| ratio(&queue)),
                    weight_sum: is_scaled.then_some(ratios),
                    gift: shown(minimum.into()).into(),
                    capped_by: (!by_weight && self.weights[at] == 0).then(|| "weight 0".into()),
                    ..step.clone()
                });
            }
            if by_weight {
                trace.push(|| Step {
                    rule: "by_weight",
                    divided: Some(shown(solver.divided.into())),
                    weight: Some(of_weight(self.weights[at].into())),
                    weight_sum: Some(of_weight(solver.weight_sum)),
                    gift: shown(share.into()).saturating_sub(shown(minimum.into())).into(),
                    ..step
                });
            }
        }
    }
}

/// The reason for the upper limit of a queue: the rule and the `capped_by` of a step.
fn bound(tree: &Tree, queue: usize, ceiling: &Observed) -> (&'static str, Cow<'static, str>) {
    if ceiling.is_whole {
        return ("capacity", "capacity".into());
    }
    if let Some(column) = ceiling.limit {
        return ("limit", format!("limit on {}", tree.slots[column]).into());
    }
    // If the dominant slot is determined by usage, the queue may ask for more of another slot.
    let asks_more = |column: usize| {
        let capacity = tree.capacity[column].units();
        mul_div(capacity, ceiling.upper.into(), ONE.into()).0 < tree.request[(queue, column)].units()
    };
    match ceiling.dominant.filter(|dominant| (0..tree.slots.len()).any(|c| c != *dominant && asks_more(c))) {
        Some(column) => ("demand", format!("request of {}", tree.slots[column]).into()),
        None => ("demand", "request".into()),
    }
}

/// Divides the share of a `fifo` queue: its children are served by priority, weight, age and input order, each up to
/// its demand. Minimum shares do not count.
fn serve_in_order(
    (tree, children, observed): (&Tree, &[usize], &[Observed]),
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
        trace.push(|| Step {
            queue,
            rule: "fifo",
            divided: Some(shown(left.into())),
            gift: shown(share.into()).into(),
            capped_by: (share == observed[queue].upper).then(|| bound(tree, queue, &observed[queue]).1),
            ..Step::default()
        });
        left -= share;
    }
}

/// Converts ratios to amounts: ratio x capacity on every slot.
fn to_amounts(tree: &Tree, ratios: &[u64], observed: &[Observed]) -> Grid<Amount> {
    let columns =
        |part: Range<usize>| part.map(|column| column_amounts(tree, ratios, observed, column)).collect::<Vec<_>>();
    let columns = large_parts(tree.slots.len(), tree.len(), columns).into_iter().flatten().collect();
    Grid::of_columns(columns)
}

/// Converts the ratios to amounts of one slot. The units of 10^-12 that rounding down leaves go to the largest
/// remainders, so that children that share all of their parent's ratio also share all of its amounts.
fn column_amounts(tree: &Tree, ratios: &[u64], observed: &[Observed], column: usize) -> Vec<Amount> {
    let (one, capacity) = (u128::from(ONE), tree.capacity[column].units());
    let mut amounts = vec![Amount::ZERO; tree.len()];
    let mut remainders: Vec<(u128, usize)> = Vec::new();
    for level in tree.levels() {
        let children = tree.children(level);
        let sum: u128 = children.iter().map(|q| u128::from(ratios[*q])).sum();
        let all = sum == level.map_or(one, |q| ratios[q].into());
        let given = level.map_or(capacity, |q| amounts[q].units());
        let mut left = if all { given } else { mul_div(sum, capacity, one).0.min(given) };
        remainders.clear();
        for queue in children.iter().copied() {
            let (part, remainder) = mul_div(ratios[queue].into(), capacity, one);
            let ceiling = &observed[queue];
            // The ratio of a met demand was rounded up, so the amount of its dominant slot is capped by the demand
            // itself.
            let met = ceiling.dominant == Some(column) && ratios[queue] >= ceiling.upper;
            let ceiling = if met { tree.requestable(queue, column).units() } else { u128::MAX };
            let part = part.min(left).min(ceiling);
            if remainder > 0 && part < ceiling {
                remainders.push((remainder, queue));
            }
            left -= part;
            amounts[queue] = Amount::from_units(part);
        }
        let order = |a: &(u128, usize), b: &(u128, usize)| b.0.cmp(&a.0).then_with(|| tree.by_age(a.1, b.1));
        for (_, queue) in first_of(&mut remainders, left, order) {
            let amount = &mut amounts[*queue];
            *amount = Amount::from_units(amount.units() + 1);
        }
    }
    amounts
}

fn shown(ratio: u128) -> Amount {
    let finer = u128::from(FINER);
    Amount::from_units(match u64::try_from(ratio) {
        // Taken almost always; a division of 128 bits takes ten times as long.
        Ok(ratio) => u128::from(ratio.saturating_add(FINER / 2) / FINER),
        Err(_) => ratio.saturating_add(finer / 2) / finer,
    })
}
