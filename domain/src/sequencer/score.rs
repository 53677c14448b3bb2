//! `score`: kube-batch's queue score (DIVISION §5).

use super::turns::score_tree::ScoreTree;
use super::turns::{QueueClaims, TurnRule, TurnState, by_priority};
use super::{SequenceRule, SequenceWorkload, ShareLookup};
use crate::division::report::order::score_figures;
use crate::division::score_weights::ScoreWeights;

/// kube-batch's queue score (DIVISION §5): queues take turns, the highest score first.
pub(super) struct ScoreSequencer;

impl SequenceRule for ScoreSequencer {
    fn name(&self) -> &'static str {
        "score"
    }

    fn summary(&self) -> &'static str {
        "The queue with the best score of its division starts first."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by turns of queues, highest score first"
    }

    fn keys(&self, workloads: &[SequenceWorkload], _: &dyn ShareLookup) -> Vec<u64> {
        by_priority(workloads)
    }

    fn turns<'a>(&self, claims: &'a QueueClaims<'a>) -> Option<Box<dyn TurnRule + 'a>> {
        Some(Box::new(SiblingScores::new(claims.tree.len(), claims.score_weights, false)))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

pub(crate) struct SiblingScores<'a> {
    weights: &'a ScoreWeights,
    /// The siblings by parent, the roots last; `None` if no queue has pending workloads there.
    levels: Vec<Option<ScoreLevel<'a>>>,
    /// By queue: the number of older siblings.
    age: Vec<usize>,
    shares_first: bool,
}

struct ScoreLevel<'a> {
    /// The queues, the oldest first.
    queues: Vec<usize>,
    tree: ScoreTree<'a>,
    /// The same siblings, of which only those wait that do not have their share; kept if such queues come first.
    below_share: Option<ScoreTree<'a>>,
    first: Option<usize>,
}

impl ScoreLevel<'_> {
    fn choose(&mut self) {
        let below = self.below_share.as_mut().and_then(ScoreTree::first);
        self.first = below.or_else(|| self.tree.first()).map(|sibling| self.queues[sibling]);
    }
}

impl<'a> SiblingScores<'a> {
    /// The rule for that many queues. With `shares_first` a queue that has its share comes after all others.
    pub fn new(queues: usize, weights: &'a ScoreWeights, shares_first: bool) -> Self {
        Self { weights, levels: (0..=queues).map(|_| None).collect(), age: vec![0; queues], shares_first }
    }

    fn place(&self, parent: Option<usize>) -> usize {
        parent.unwrap_or(self.levels.len() - 1)
    }
}

impl TurnRule for SiblingScores<'_> {
    fn open(&mut self, state: &TurnState, parent: Option<usize>, waiting: Vec<usize>) {
        if waiting.is_empty() {
            return;
        }
        let mut queues = state.tree.children(parent).to_vec();
        queues.sort_by(|a, b| state.tree.by_age(*a, *b));
        for (age, queue) in queues.iter().enumerate() {
            self.age[*queue] = age;
        }
        // Siblings without pending workloads are part of the normalisation too.
        let mut siblings: Vec<_> =
            queues.iter().map(|queue| (score_figures(&state.tree, *queue, state.fair_share), false)).collect();
        for queue in waiting {
            siblings[self.age[queue]].1 = true;
        }
        let tree = ScoreTree::new(self.weights, &siblings);
        let below_share = self.shares_first.then(|| {
            for (queue, (_, waits)) in queues.iter().zip(&mut siblings) {
                *waits &= !state.has_its_share(*queue);
            }
            ScoreTree::new(self.weights, &siblings)
        });
        let mut level = ScoreLevel { queues, tree, below_share, first: None };
        level.choose();
        let place = self.place(parent);
        self.levels[place] = Some(level);
    }

    fn first(&self, parent: Option<usize>) -> Option<usize> {
        self.levels[self.place(parent)].as_ref()?.first
    }

    fn gave(&mut self, state: &TurnState, queue: usize, waits: bool) {
        let place = self.place(state.tree.queues[queue].parent);
        let Some(level) = &mut self.levels[place] else { return };
        let figures = score_figures(&state.tree, queue, state.fair_share);
        level.tree.record_turn(self.age[queue], figures, waits);
        if let Some(below) = &mut level.below_share {
            below.record_turn(self.age[queue], figures, waits && !state.has_its_share(queue));
        }
        level.choose();
    }
}
