//! The two orders of queues (DIVISION §5): `saturation` after appendix B, and `score` after kube-batch.

use std::cmp::{Ordering, Reverse};

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::state::QueueAllocation;
use crate::decimal::{Amount, f64_text};
use crate::division::fraction::Fraction;
use crate::division::score_weights::ScoreWeights;
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::queues::Bound;

/// A tie of more queues than this is sorted lexicographically by allocatable shares instead of pair by pair, because
/// the pairwise order takes quadratic time.
const MAX_PAIRWISE: usize = 64;

/// The part of the queue order that comes before allocatable shares and age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueOrderKey {
    over_fair_share: bool,
    above_quota_with_next: bool,
    priority: Reverse<i32>,
    holds_forbidden: bool,
    dominant_with_next: Fraction,
    dominant: Fraction,
}

/// The key of a queue whose next workload asks for `next`, after `victims` of its own workloads are gone.
pub fn key(position: &QueueAllocation, next: &[Amount], victims: &[Amount]) -> QueueOrderKey {
    let tree = position.tree;
    let at = |row: &[Amount], column: usize| row.get(column).copied().unwrap_or_default();
    let with_next = |column: usize| position.allocated[column].saturating_add(at(next, column));
    let columns = || 0..position.allocated.len();
    QueueOrderKey {
        over_fair_share: position.is_over_fair_share(),
        above_quota_with_next: columns()
            .any(|column| Bound::Limited(with_next(column)) > tree.quota[(position.queue, column)]),
        priority: Reverse(tree.queues[position.queue].priority),
        holds_forbidden: columns()
            .any(|column| position.allocatable(column) == Bound::Limited(Amount::ZERO) && !with_next(column).is_zero()),
        dominant_with_next: position.dominant_share(|column| with_next(column).saturating_sub(at(victims, column))),
        dominant: position.dominant_share(|column| position.allocated[column]),
    }
}

/// The queue order of appendix B for two siblings; the lower one comes first.
pub fn compare(a: (&QueueAllocation, &QueueOrderKey), b: (&QueueAllocation, &QueueOrderKey)) -> Ordering {
    let (tree, pair) = (a.0.tree, (a.0.queue, b.0.queue));
    a.1.cmp(b.1).then_with(|| component_wise(a.0, b.0)).then_with(|| tree.by_age(pair.0, pair.1))
}

/// Less if `a` is smaller on some slot and larger on none, greater in the opposite case, otherwise equal.
fn component_wise(a: &QueueAllocation, b: &QueueAllocation) -> Ordering {
    let mut order = Ordering::Equal;
    for column in 0..a.allocated.len() {
        match (order, a.allocatable(column).cmp(&b.allocatable(column))) {
            (_, Ordering::Equal) => {}
            (Ordering::Equal, next) => order = next,
            (known, next) if known == next => {}
            _ => return Ordering::Equal,
        }
    }
    order
}

fn lexicographic(a: &QueueAllocation, b: &QueueAllocation) -> Ordering {
    let orders = (0..a.allocated.len()).map(|column| a.allocatable(column).cmp(&b.allocatable(column)));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// All queues depth first, siblings in the queue order.
pub fn by_saturation(tree: &QueueTree, fair_share: &QueueSlotGrid<Amount>) -> Vec<usize> {
    let position = |queue: usize| QueueAllocation {
        tree,
        queue,
        allocated: tree.allocated.row(queue),
        fair_share: fair_share.row(queue),
    };
    depth_first(tree, |siblings| {
        let mut keyed: Vec<(QueueOrderKey, QueueAllocation)> = siblings
            .iter()
            .map(|q| {
                let position = position(*q);
                (key(&position, tree.next_request.row(*q), &[]), position)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| tree.by_age(a.1.queue, b.1.queue)));
        for tied in keyed.chunk_by_mut(|a, b| a.0 == b.0) {
            settle_ties(tied);
        }
        keyed.into_iter().map(|(_, position)| position.queue).collect()
    })
}

/// Orders queues of equal key, which come in by age, so that no queue follows one whose allocatable share is
/// component-wise larger. That relation is no total order, so a small tie is ordered by picking again and again the
/// oldest queue that no other has to precede.
fn settle_ties(tied: &mut [(QueueOrderKey, QueueAllocation)]) {
    if tied.len() > MAX_PAIRWISE {
        tied.sort_by(|a, b| lexicographic(&a.1, &b.1));
        return;
    }
    for first in 0..tied.len() {
        let rest = &tied[first..];
        let is_free =
            |a: &(QueueOrderKey, QueueAllocation)| rest.iter().all(|b| component_wise(&b.1, &a.1) != Ordering::Less);
        if let Some(free) = rest.iter().position(is_free) {
            tied[first..=first + free].rotate_right(1);
        }
    }
}

/// Visits the tree from the roots. `order` orders the children of each queue.
fn depth_first(tree: &QueueTree, order: impl Fn(&[usize]) -> Vec<usize>) -> Vec<usize> {
    let mut stack = order(tree.children(None));
    stack.reverse();
    let mut visited = Vec::with_capacity(tree.len());
    while let Some(queue) = stack.pop() {
        visited.push(queue);
        if !tree.is_leaf(queue) {
            stack.extend(order(tree.children(Some(queue))).into_iter().rev());
        }
    }
    visited
}

/// A queue's score among its siblings, with its parts: each normalised to 0..=1 and weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct QueueScore {
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = Amount)]
    pub total: f64,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = Amount)]
    pub priority: f64,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = Amount)]
    pub drf: f64,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = Amount)]
    pub proportion: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn as_text<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&f64_text(*value))
}

/// The scores of all queues. A higher priority, a lower dominant share of the capacity and a lower allocated / fair
/// share score higher. Each figure is normalised between the smallest and the largest among siblings; if all are equal
/// they score 1.
pub fn queue_scores(tree: &QueueTree, fair_share: &QueueSlotGrid<Amount>, weights: &ScoreWeights) -> Vec<QueueScore> {
    let mut scores = vec![QueueScore::default(); tree.len()];
    for level in tree.levels() {
        let siblings = tree.children(level);
        let all: Vec<[f64; 3]> = siblings.iter().map(|q| score_figures(tree, *q, fair_share)).collect();
        let scale = SiblingScale::of(all.iter().copied());
        for (queue, figures) in siblings.iter().zip(all) {
            scores[*queue] = scale.score(figures, weights);
        }
    }
    scores
}

/// The figures of a queue's score, in the order of [`ScoreWeights`]. A lower figure scores higher.
pub fn score_figures(tree: &QueueTree, queue: usize, fair_share: &QueueSlotGrid<Amount>) -> [f64; 3] {
    let priority = -f64::from(tree.queues[queue].priority);
    [priority, capacity_share(tree, queue).to_f64(), deserved_share(tree, queue, fair_share).to_f64()]
}

/// The smallest and the largest value of each figure among siblings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiblingScale([(f64, f64); 3]);

impl Default for SiblingScale {
    fn default() -> Self {
        Self([(f64::INFINITY, f64::NEG_INFINITY); 3])
    }
}

impl SiblingScale {
    pub fn of(siblings: impl Iterator<Item = [f64; 3]>) -> Self {
        siblings.fold(Self::default(), |mut scale, figures| {
            for ((least, most), figure) in scale.0.iter_mut().zip(figures) {
                (*least, *most) = (least.min(figure), most.max(figure));
            }
            scale
        })
    }

    pub fn between(least: [f64; 3], most: [f64; 3]) -> Self {
        Self([0, 1, 2].map(|at| (least[at], most[at])))
    }

    /// The weighted score: each figure counts 1 at the smallest value and 0 at the largest.
    pub fn score(&self, figures: [f64; 3], weights: &ScoreWeights) -> QueueScore {
        let part = |at: usize, weight: Amount| {
            let ((least, most), figure) = (self.0[at], figures[at]);
            let range = most - least;
            weight.to_f64() * if range > 0.0 { (most - figure) / range } else { 1.0 }
        };
        let (priority, drf, proportion) =
            (part(0, weights.priority), part(1, weights.drf), part(2, weights.proportion));
        QueueScore { total: priority + drf + proportion, priority, drf, proportion }
    }
}

/// All queues depth first, siblings by score, highest first.
pub fn by_score(tree: &QueueTree, scores: &[QueueScore]) -> Vec<usize> {
    depth_first(tree, |siblings| {
        let mut order = siblings.to_vec();
        order.sort_by(|a, b| scores[*b].total.total_cmp(&scores[*a].total).then_with(|| tree.by_age(*a, *b)));
        order
    })
}

/// The largest part of the capacity of any slot that the queue holds.
fn capacity_share(tree: &QueueTree, queue: usize) -> Fraction {
    let with_capacity = (0..tree.slots.len()).filter(|column| !tree.capacity[*column].is_zero());
    let share = |column: usize| Fraction::of(tree.allocated[(queue, column)], tree.capacity[column]);
    with_capacity.map(share).max().unwrap_or(Fraction::ZERO)
}

/// The share of kube-batch: the largest allocated / deserved, where x/0 = 1 and 0/0 = 0.
pub fn deserved_share(tree: &QueueTree, queue: usize, deserved: &QueueSlotGrid<Amount>) -> Fraction {
    let share = |column: usize| {
        let share = Fraction::of(tree.allocated[(queue, column)], deserved[(queue, column)]);
        if share.is_infinite() { Fraction::ONE } else { share }
    };
    (0..tree.slots.len()).map(share).max().unwrap_or(Fraction::ZERO)
}
