//! `min_share` (DIVISION §3, YTsaurus): one ratio for each queue, with minimum shares, weights and demand.

mod leaves;
mod sweep;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DivisionAlgorithm, DivisionResult, MinShareRatios, WeightSource, remaining_capacity};
use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::exact::{apportion, cmp_products, first_of, greatest_common_divisor, mul_div, mul_div_up};
use crate::division::trace::{DivisionStep, DivisionTrace};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::division::tree::warning::DivisionWarning;
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues};
use crate::parallel::{both_of, large_parts, map_indices};
use crate::queues::{Bound, QueueMode};
pub use leaves::{LeafLevel, WorkloadDemand};
use sweep::{LevelSolver, SweepMember};

/// The ratio 1: ratios have 18 decimal places while they are divided, and 12 in the result.
const RATIO_ONE: u64 = 1_000_000_000_000_000_000;
const RATIO_UNITS_PER_RESULT_UNIT: u64 = 1_000_000;

choices! {
    /// How a minimum share and a weight combine under `min_share` (DIVISION §3).
    #[derive(Default)]
    pub enum MinShareRule {
        #[default]
        Floor = "floor", "The share is at least the smallest share.";
        OnTop = "on_top", "What the smallest shares leave is divided on top of them.";
    }
}

choices! {
    /// The things whose shares scheduling cycles show under `min_share` (DIVISION §3).
    #[derive(Default)]
    pub enum MinShareLeaves {
        #[default]
        Queues = "queues", "Scheduling cycles show the shares of queues.";
        Workloads = "workloads", "Scheduling cycles also show the share of each workload in its queue.";
    }
}

/// The options of this algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub rule: MinShareRule,
    pub leaves: MinShareLeaves,
}

impl FlatPart for Options {
    fn facts() -> Vec<OptionFacts> {
        let said = "How smallest shares and weights come together.";
        let leaves = "Whose shares scheduling cycles show.";
        vec![
            OptionFacts::new("rule", "Rule of smallest shares", OptionValues::Choice(MinShareRule::choices), said),
            OptionFacts::new("leaves", "Leaves", OptionValues::Choice(MinShareLeaves::choices), leaves),
        ]
    }
}

pub(super) struct MinShare;

impl DivisionAlgorithm for MinShare {
    fn name(&self) -> &'static str {
        "min_share"
    }

    fn summary(&self) -> &'static str {
        "By weight, with a smallest share for each queue."
    }

    fn divide(&self, tree: &QueueTree, options: &super::DivisionOptions, trace: &mut DivisionTrace) -> DivisionResult {
        let observed = map_indices(tree.len(), |queue| ObservedRatios::of(tree, queue));
        let [fair, guaranteed] = divide_ratios(tree, options.min_share.rule, &observed, trace);
        let warnings = scaled_min_shares(tree, &fair, &observed);
        let fair_share = to_amounts(tree, &fair, &observed);
        let ratios = observed.iter().zip(&fair).zip(&guaranteed).map(|((observed, fair), guaranteed)| MinShareRatios {
            usage: to_amount(observed.usage),
            demand: to_amount(observed.demand),
            fair_share: to_amount((*fair).into()),
            guaranteed: to_amount((*guaranteed).into()),
        });
        let ratios = Some(ratios.collect());
        DivisionResult { remaining: remaining_capacity(tree, &fair_share), fair_share, ratios, warnings }
    }

    fn reads_min_shares(&self) -> bool {
        true
    }

    fn weighs(&self, tree: &QueueTree, _: &super::DivisionOptions, queue: usize) -> WeightSource {
        let is_fifo = tree.queues[queue].parent.is_some_and(|parent| tree.queues[parent].mode == QueueMode::Fifo);
        if is_fifo { WeightSource::Neither } else { WeightSource::Weight }
    }
}

/// The usage and the demand of a queue, and the most that it may have, as ratios of the group.
struct ObservedRatios {
    usage: u128,
    demand: u128,
    dominant: Option<usize>,
    /// The demand, cut by the limits of the slots that the queue asks for, and at most [`RATIO_ONE`].
    upper: u64,
    /// The column whose limit determines `upper`.
    limit: Option<usize>,
    /// True if `upper` is [`RATIO_ONE`] because demand and limits are above it.
    is_whole: bool,
}

impl ObservedRatios {
    fn of(tree: &QueueTree, queue: usize) -> Self {
        let (allocated, request) = (tree.allocated.row(queue), tree.request.row(queue));
        let dominant = dominant_column(allocated, &tree.capacity).or_else(|| dominant_column(request, &tree.capacity));
        let ratio =
            |amount: Amount, column: usize| mul_div_up(amount.units(), RATIO_ONE.into(), tree.capacity[column].units());
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
                    _ => mul_div(limit.units(), RATIO_ONE.into(), capacity).0,
                };
                if limit < upper {
                    (upper, limited) = (limit, Some(column));
                }
            }
        }
        let is_whole = upper > u128::from(RATIO_ONE);
        let upper = u64::try_from(upper).unwrap_or(RATIO_ONE).min(RATIO_ONE);
        Self { usage: of_dominant(allocated), demand, dominant, upper, limit: limited, is_whole }
    }
}

/// The column on which the row holds the largest part of the capacity.
fn dominant_column(row: &[Amount], capacity: &[Amount]) -> Option<usize> {
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
fn divide_ratios(
    tree: &QueueTree,
    rule: MinShareRule,
    observed: &[ObservedRatios],
    trace: &mut DivisionTrace,
) -> [Vec<u64>; 2] {
    let levels = LevelInputs { tree, rule, observed, weights: common_weights(tree) };
    let guaranteed = || levels.divide(|_| RATIO_ONE, &mut DivisionTrace::off());
    let fair = || levels.divide(|queue| observed[queue].upper, trace);
    let (guaranteed, fair) = both_of(tree.len(), guaranteed, fair);
    [fair, guaranteed]
}

/// The inputs that the division of every level shares.
struct LevelInputs<'a> {
    tree: &'a QueueTree,
    rule: MinShareRule,
    observed: &'a [ObservedRatios],
    weights: ChildWeights,
}

impl LevelInputs<'_> {
    /// Divides all levels from the roots down. No queue gets more than its `upper`.
    fn divide(&self, upper: impl Fn(usize) -> u64, trace: &mut DivisionTrace) -> Vec<u64> {
        let Self { tree, rule, observed, .. } = *self;
        let mut ratios = vec![0; tree.len()];
        let (mut solver, mut lower, mut start) = (LevelSolver::default(), Vec::new(), 0);
        for (level, divisor) in tree.levels().zip(self.weights.divisors.iter().copied()) {
            let children = tree.children(level);
            let weights = &self.weights.reduced[start..start + children.len()];
            start += children.len();
            let total = level.map_or(RATIO_ONE, |q| ratios[q]);
            if level.is_some_and(|q| tree.queues[q].mode == QueueMode::Fifo) {
                serve_in_order((tree, children, observed), total, &upper, &mut ratios, trace);
                continue;
            }
            lower_limits(tree, children, total, &mut lower);
            solver.members.clear();
            solver.members.extend(children.iter().zip(weights).zip(&lower).map(|((queue, weight), lower)| {
                SweepMember { weight: *weight, lower: *lower, upper: upper(*queue).min(total) }
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
struct ChildWeights {
    /// Weights divided by the greatest common divisor of their level; the levels follow each other.
    reduced: Vec<u64>,
    /// The greatest common divisor of each level.
    divisors: Vec<u64>,
}

fn common_weights(tree: &QueueTree) -> ChildWeights {
    let mut weights = ChildWeights::default();
    for level in tree.levels() {
        let start = weights.reduced.len();
        let mut divisor = 0;
        for queue in tree.children(level) {
            // `QueueTree::build` refuses weights that do not fit.
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
fn lower_limits(tree: &QueueTree, children: &[usize], total: u64, limits: &mut Vec<u64>) {
    let lower = |queue: &usize| tree.queues[*queue].min_share_ratio.units() * u128::from(RATIO_UNITS_PER_RESULT_UNIT);
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
fn scaled_min_shares(tree: &QueueTree, fair: &[u64], observed: &[ObservedRatios]) -> Vec<DivisionWarning> {
    let mut warnings = Vec::new();
    for parent in tree.levels().flatten().filter(|queue| tree.queues[*queue].mode == QueueMode::Fair) {
        let children = tree.children(Some(parent));
        let lower =
            |queue: &usize| tree.queues[*queue].min_share_ratio.units() * u128::from(RATIO_UNITS_PER_RESULT_UNIT);
        let wanted = |queue: &usize| lower(queue).min(observed[*queue].upper.into());
        let share = u128::from(fair[parent]);
        if children.iter().map(wanted).sum::<u128>() > share {
            let ratios = children.iter().map(|child| tree.queues[*child].min_share_ratio);
            let sum = ratios.fold(Amount::ZERO, Amount::saturating_add);
            let detail = format!(
                "the minimum shares of its children add up to {sum}, above its share of {}, and were scaled down to it",
                to_amount(share)
            );
            warnings.push(DivisionWarning::new("min_shares_scaled", Some(tree.name(parent)), None, detail));
        }
    }
    warnings
}

/// The inputs and results of one level, from which its steps are recorded.
struct LevelShares<'a> {
    tree: &'a QueueTree,
    children: &'a [usize],
    observed: &'a [ObservedRatios],
    total: u64,
    /// Minimum shares, scaled down if together they exceed the total.
    lower: &'a [u64],
    weights: &'a [u64],
    divisor: u64,
}

impl LevelShares<'_> {
    fn record(&self, rule: MinShareRule, solver: &LevelSolver, trace: &mut DivisionTrace) {
        let ratio = |queue: &usize| self.tree.queues[*queue].min_share_ratio;
        let ratios = self.children.iter().map(ratio).fold(Amount::ZERO, Amount::saturating_add);
        let is_scaled = ratios.units() * u128::from(RATIO_UNITS_PER_RESULT_UNIT) > u128::from(self.total);
        let of_weight = |weight: u128| Amount::from_units(weight.saturating_mul(self.divisor.into()));
        for (at, queue) in self.children.iter().copied().enumerate() {
            let (share, ceiling) = (solver.shares[at], &self.observed[queue]);
            let step = DivisionStep { queue, gift: to_amount(share.into()).into(), ..DivisionStep::default() };
            if share == ceiling.upper.min(self.total) {
                let (rule, bound) = match share {
                    share if share < ceiling.upper => ("parent", "parent's share".into()),
                    _ => upper_limit_reason(self.tree, queue, ceiling),
                };
                let capped_by = (bound != "request").then_some(bound);
                trace.push(|| DivisionStep { rule, capped_by, ..step });
                continue;
            }
            let by_weight = solver.by_weight(at);
            let minimum = match (by_weight, rule) {
                (false, _) => share,
                (true, MinShareRule::OnTop) => self.lower[at],
                (true, MinShareRule::Floor) => 0,
            };
            if minimum > 0 || !by_weight {
                let is_scaled = is_scaled && minimum > 0;
                trace.push(|| DivisionStep {
                    rule: "min_share",
                    divided: is_scaled.then(|| to_amount(self.total.into())),
                    weight: is_scaled.then(|| ratio(&queue)),
                    weight_sum: is_scaled.then_some(ratios),
                    gift: to_amount(minimum.into()).into(),
                    capped_by: (!by_weight && self.weights[at] == 0).then(|| "weight 0".into()),
                    ..step.clone()
                });
            }
            if by_weight {
                trace.push(|| DivisionStep {
                    rule: "by_weight",
                    divided: Some(to_amount(solver.divided.into())),
                    weight: Some(of_weight(self.weights[at].into())),
                    weight_sum: Some(of_weight(solver.weight_sum)),
                    gift: to_amount(share.into()).saturating_sub(to_amount(minimum.into())).into(),
                    ..step
                });
            }
        }
    }
}

/// The reason for the upper limit of a queue: the rule and the `capped_by` of a step.
fn upper_limit_reason(tree: &QueueTree, queue: usize, ceiling: &ObservedRatios) -> (&'static str, Cow<'static, str>) {
    if ceiling.is_whole {
        return ("capacity", "capacity".into());
    }
    if let Some(column) = ceiling.limit {
        return ("limit", format!("limit on {}", tree.slots[column]).into());
    }
    // If the dominant slot is determined by usage, the queue may ask for more of another slot.
    let asks_more = |column: usize| {
        let capacity = tree.capacity[column].units();
        mul_div(capacity, ceiling.upper.into(), RATIO_ONE.into()).0 < tree.request[(queue, column)].units()
    };
    match ceiling.dominant.filter(|dominant| (0..tree.slots.len()).any(|c| c != *dominant && asks_more(c))) {
        Some(column) => ("demand", format!("request of {}", tree.slots[column]).into()),
        None => ("demand", "request".into()),
    }
}

/// Divides the share of a `fifo` queue: its children are served by priority, weight, age and input order, each up to
/// its demand. Minimum shares do not count.
fn serve_in_order(
    (tree, children, observed): (&QueueTree, &[usize], &[ObservedRatios]),
    mut left: u64,
    upper: impl Fn(usize) -> u64,
    ratios: &mut [u64],
    trace: &mut DivisionTrace,
) {
    let mut order = children.to_vec();
    order.sort_by(|a, b| {
        let (a, b) = (&tree.queues[*a], &tree.queues[*b]);
        b.priority.cmp(&a.priority).then(b.weight.cmp(&a.weight)).then(a.created_at.cmp(&b.created_at))
    });
    for queue in order {
        let share = upper(queue).min(left);
        ratios[queue] = share;
        trace.push(|| DivisionStep {
            queue,
            rule: "fifo",
            divided: Some(to_amount(left.into())),
            gift: to_amount(share.into()).into(),
            capped_by: (share == observed[queue].upper).then(|| upper_limit_reason(tree, queue, &observed[queue]).1),
            ..DivisionStep::default()
        });
        left -= share;
    }
}

/// Converts ratios to amounts: ratio x capacity on every slot.
fn to_amounts(tree: &QueueTree, ratios: &[u64], observed: &[ObservedRatios]) -> QueueSlotGrid<Amount> {
    let columns =
        |part: Range<usize>| part.map(|column| column_amounts(tree, ratios, observed, column)).collect::<Vec<_>>();
    let columns = large_parts(tree.slots.len(), tree.len(), columns).into_iter().flatten().collect();
    QueueSlotGrid::of_columns(columns)
}

/// Converts the ratios to amounts of one slot. The units of 10^-12 that rounding down leaves go to the largest
/// remainders, so that children that share all of their parent's ratio also share all of its amounts.
fn column_amounts(tree: &QueueTree, ratios: &[u64], observed: &[ObservedRatios], column: usize) -> Vec<Amount> {
    let (one, capacity) = (u128::from(RATIO_ONE), tree.capacity[column].units());
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

fn to_amount(ratio: u128) -> Amount {
    let finer = u128::from(RATIO_UNITS_PER_RESULT_UNIT);
    Amount::from_units(match u64::try_from(ratio) {
        // Taken almost always; a division of 128 bits takes ten times as long.
        Ok(ratio) => u128::from(ratio.saturating_add(RATIO_UNITS_PER_RESULT_UNIT / 2) / RATIO_UNITS_PER_RESULT_UNIT),
        Err(_) => ratio.saturating_add(finer / 2) / finer,
    })
}
