//! Finds the sibling with the highest score without computing all scores (DIVISION §5).
//!
//! Scores are normalised between the smallest and the largest figures of all siblings, so one turn may change all of
//! them. A score is a constant minus the sum a · f, where f are the figures of a sibling and a = weight / range for
//! each figure. So the highest score has the smallest sum.
//!
//! A tree over the siblings keeps the smallest sums for an earlier a. The present a equals m times the earlier one plus
//! a rest on each figure. Therefore no sum below a node is smaller than m x (its sum) + rest · (its smallest figures).
//! The bound is nearly exact if the siblings below a node are alike, so the leaves are ordered by their figures. They
//! are ordered again after a number of steps that cost as much as ordering. Only siblings that may come first by these
//! bounds are compared by score.

use std::collections::BTreeSet;

use crate::division::report::order::SiblingScale;
use crate::division::score_weights::ScoreWeights;
use crate::maps::FastMap;

pub type ScoreFigures = [f64; 3];

/// The number of steps per sibling after which the leaves are ordered again.
const STEPS_A_LEAF: usize = 4;

/// The tree over siblings, which are numbered by age from 0.
pub struct ScoreTree<'a> {
    score_weights: &'a ScoreWeights,
    weights: ScoreFigures,
    figures: Vec<ScoreFigures>,
    /// The largest value of each figure. It never shrinks.
    most: ScoreFigures,
    /// The waiting siblings by figures. Siblings with equal figures have the same score, so the oldest represents them
    /// all.
    alike: FastMap<[u64; 3], BTreeSet<usize>>,
    /// The root is node 1, the children of node n are 2n and 2n + 1, and the second half are the leaves.
    nodes: Vec<ScoreNode>,
    /// The leaf of each sibling, and the sibling of each leaf.
    leaf_of: Vec<usize>,
    siblings: Vec<usize>,
    earlier: TreeBasis,
    steps: usize,
}

/// The values that the tree was built with. Figures are relative to `base`, so that sums stay small; `factors` are the
/// earlier a.
#[derive(Clone, Copy)]
struct TreeBasis {
    base: ScoreFigures,
    factors: ScoreFigures,
}

#[derive(Clone, Copy)]
struct ScoreNode {
    /// The smallest figures of all siblings below.
    least: ScoreFigures,
    /// The smallest figures of the waiting siblings that represent others of their figures, relative to the base.
    open: ScoreFigures,
    /// The smallest sum of the same siblings; infinite if there are none.
    sum: f64,
}

const NO_SIBLING: ScoreNode = ScoreNode { least: [f64::INFINITY; 3], open: [f64::INFINITY; 3], sum: f64::INFINITY };

impl ScoreNode {
    fn over(a: &Self, b: &Self) -> Self {
        let least = |a: ScoreFigures, b: ScoreFigures| [0, 1, 2].map(|i| a[i].min(b[i]));
        Self { least: least(a.least, b.least), open: least(a.open, b.open), sum: a.sum.min(b.sum) }
    }
}

fn dot_product(a: &ScoreFigures, b: &ScoreFigures) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn subtract_figures(a: &ScoreFigures, b: &ScoreFigures) -> ScoreFigures {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

impl<'a> ScoreTree<'a> {
    /// `siblings` are ordered by age: the figures of each, and true if it waits.
    pub fn new(score_weights: &'a ScoreWeights, siblings: &[(ScoreFigures, bool)]) -> Self {
        let count = siblings.len();
        let earlier = TreeBasis { base: [0.0; 3], factors: [0.0; 3] };
        let mut tree = Self {
            score_weights,
            weights: score_weights.as_f64(),
            figures: siblings.iter().map(|(figures, _)| *figures).collect(),
            most: [f64::NEG_INFINITY; 3],
            alike: FastMap::default(),
            nodes: vec![NO_SIBLING; 2 * count.next_power_of_two()],
            leaf_of: (0..count).collect(),
            siblings: (0..count).collect(),
            earlier,
            steps: 0,
        };
        for (sibling, (figures, waits)) in siblings.iter().enumerate() {
            tree.most = [0, 1, 2].map(|i| tree.most[i].max(figures[i]));
            if *waits {
                tree.alike.entry(figures.map(f64::to_bits)).or_default().insert(sibling);
            }
        }
        tree.arrange();
        // The first pass found the smallest figures; the second one uses them.
        tree.arrange();
        tree
    }

    /// Updates a sibling after a turn: it has other figures, none of them smaller, or does not wait any more.
    pub fn record_turn(&mut self, sibling: usize, figures: ScoreFigures, waits: bool) {
        let before = self.figures[sibling].map(f64::to_bits);
        let mut next = None;
        if let Some(alike) = self.alike.get_mut(&before) {
            alike.remove(&sibling);
            next = alike.first().copied();
            if next.is_none() {
                self.alike.remove(&before);
            }
        }
        self.figures[sibling] = figures;
        self.most = [0, 1, 2].map(|i| self.most[i].max(figures[i]));
        let mut before_it = None;
        if waits {
            let alike = self.alike.entry(figures.map(f64::to_bits)).or_default();
            before_it = alike.first().copied();
            alike.insert(sibling);
        }
        self.set(sibling);
        // Updates the sibling that now represents the old figures, and the one that this older sibling replaces for the
        // new figures.
        for changed in [next, before_it].into_iter().flatten().filter(|other| *other > sibling) {
            self.set(changed);
        }
    }

    fn stands_for_others(&self, sibling: usize) -> bool {
        let alike = self.alike.get(&self.figures[sibling].map(f64::to_bits));
        alike.and_then(BTreeSet::first) == Some(&sibling)
    }

    fn leaf(&self, sibling: usize) -> ScoreNode {
        let least = self.figures[sibling];
        if !self.stands_for_others(sibling) {
            return ScoreNode { least, ..NO_SIBLING };
        }
        let open = subtract_figures(&least, &self.earlier.base);
        ScoreNode { least, open, sum: dot_product(&self.earlier.factors, &open) }
    }

    fn set(&mut self, sibling: usize) {
        let mut at = self.nodes.len() / 2 + self.leaf_of[sibling];
        self.nodes[at] = self.leaf(sibling);
        while at > 1 {
            at /= 2;
            self.nodes[at] = ScoreNode::over(&self.nodes[2 * at], &self.nodes[2 * at + 1]);
        }
    }

    /// Orders the leaves by their figures, and makes the present factors the earlier ones.
    fn arrange(&mut self) {
        let first = self.nodes.len() / 2;
        let least = self.nodes[1].least;
        if least[0].is_finite() {
            self.earlier = TreeBasis { base: least, factors: self.factors() };
        }
        let figures = &self.figures;
        self.siblings.sort_by(|a, b| {
            let pairs = figures[*a].iter().zip(&figures[*b]);
            pairs.map(|(a, b)| a.total_cmp(b)).fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        for leaf in 0..self.siblings.len() {
            let sibling = self.siblings[leaf];
            self.leaf_of[sibling] = leaf;
            self.nodes[first + leaf] = self.leaf(sibling);
        }
        for at in (1..first).rev() {
            self.nodes[at] = ScoreNode::over(&self.nodes[2 * at], &self.nodes[2 * at + 1]);
        }
        self.steps = 0;
    }

    /// a = weight / range; 0 for a figure that is equal for all siblings.
    fn factors(&self) -> ScoreFigures {
        let ranges = subtract_figures(&self.most, &self.nodes[1].least);
        [0, 1, 2].map(|i| if ranges[i] > 0.0 { self.weights[i] / ranges[i] } else { 0.0 })
    }

    /// The waiting sibling with the highest score; the oldest of equals.
    pub fn first(&mut self) -> Option<usize> {
        if self.alike.is_empty() {
            return None;
        }
        if self.steps > STEPS_A_LEAF * self.nodes.len() {
            self.arrange();
        }
        let mut search = ScoreSearch::new(self);
        search.visit(1, search.bound(1));
        let (steps, best) = (search.steps, search.best);
        self.steps += steps;
        best.map(|(_, sibling)| sibling)
    }
}

struct ScoreSearch<'a> {
    tree: &'a ScoreTree<'a>,
    scale: SiblingScale,
    factors: ScoreFigures,
    multiple: f64,
    rest: ScoreFigures,
    /// An upper bound of the rounding errors of a sum and of a score, with a wide margin.
    slack: f64,
    /// The smallest sum so far.
    sum: f64,
    best: Option<(f64, usize)>,
    steps: usize,
}

impl<'a> ScoreSearch<'a> {
    fn new(tree: &'a ScoreTree<'a>) -> Self {
        let (least, most, earlier) = (tree.nodes[1].least, tree.most, &tree.earlier);
        let factors = tree.factors();
        let with_both = (0..3).filter(|i| earlier.factors[*i] > 0.0);
        let multiple = with_both.map(|i| factors[i] / earlier.factors[i]).fold(f64::INFINITY, f64::min);
        let multiple = if multiple.is_finite() { multiple } else { 0.0 };
        let rest = [0, 1, 2].map(|i| (factors[i] - multiple * earlier.factors[i]).max(0.0));
        let largest = dot_product(&factors, &subtract_figures(&most, &earlier.base)) + tree.weights.iter().sum::<f64>();
        Self {
            tree,
            scale: SiblingScale::between(least, most),
            factors,
            multiple,
            rest,
            slack: 64.0 * f64::EPSILON * largest,
            sum: f64::INFINITY,
            best: None,
            steps: 0,
        }
    }

    /// A lower bound of the sums below the node.
    fn bound(&self, node: usize) -> f64 {
        let ScoreNode { open, sum, .. } = &self.tree.nodes[node];
        if sum.is_finite() { self.multiple * sum + dot_product(&self.rest, open) } else { f64::INFINITY }
    }

    fn visit(&mut self, node: usize, bound: f64) {
        self.steps += 1;
        if bound.is_infinite() || bound > self.sum + self.slack {
            return;
        }
        let first = self.tree.nodes.len() / 2;
        if let Some(leaf) = node.checked_sub(first) {
            self.compare(self.tree.siblings[leaf]);
            return;
        }
        let (left, right) = ((2 * node, self.bound(2 * node)), (2 * node + 1, self.bound(2 * node + 1)));
        let (near, far) = if right.1 < left.1 { (right, left) } else { (left, right) };
        self.visit(near.0, near.1);
        self.visit(far.0, far.1);
    }

    fn compare(&mut self, sibling: usize) {
        let figures = self.tree.figures[sibling];
        self.sum = self.sum.min(dot_product(&self.factors, &subtract_figures(&figures, &self.tree.earlier.base)));
        let score = self.scale.score(figures, self.tree.score_weights).total;
        if self.best.is_none_or(|(best, older)| score > best || (score >= best && sibling < older)) {
            self.best = Some((score, sibling));
        }
    }
}
