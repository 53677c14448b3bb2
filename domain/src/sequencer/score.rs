//! `score`: kube-batch's queue score (DIVISION §5).

use super::turns::score_tree::ScoreTree;
use super::turns::{QueueClaims, TurnState, Turns, by_priority};
use super::{Sequence, ShareLookup, Workload};
use crate::division::report::order::figures;
use crate::division::score_weights::ScoreWeights;

/// kube-batch's queue score (DIVISION §5): queues take turns, the highest score first.
pub(super) struct Score;

impl Sequence for Score {
    fn name(&self) -> &'static str {
        "score"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by turns of queues, highest score first"
    }

    fn keys(&self, workloads: &[Workload], _: &dyn ShareLookup) -> Vec<u64> {
        by_priority(workloads)
    }

    fn turns<'a>(&self, claims: &'a QueueClaims<'a>) -> Option<Box<dyn Turns + 'a>> {
        let rows = claims.tree.len();
        let levels = (0..=rows).map(|_| None).collect();
        Some(Box::new(Scores { weights: claims.score_weights, levels, age: vec![0; rows] }))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

struct Scores<'a> {
    weights: &'a ScoreWeights,
    /// The siblings by parent, the roots last; `None` if no queue has pending workloads there.
    levels: Vec<Option<Level<'a>>>,
    /// By queue: the number of older siblings.
    age: Vec<usize>,
}

struct Level<'a> {
    /// The queues, the oldest first.
    queues: Vec<usize>,
    tree: ScoreTree<'a>,
    first: Option<usize>,
}

impl Level<'_> {
    fn choose(&mut self) {
        self.first = self.tree.first().map(|sibling| self.queues[sibling]);
    }
}

impl Scores<'_> {
    fn place(&self, parent: Option<usize>) -> usize {
        parent.unwrap_or(self.levels.len() - 1)
    }
}

impl Turns for Scores<'_> {
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
            queues.iter().map(|queue| (figures(&state.tree, *queue, state.fair_share), false)).collect();
        for queue in waiting {
            siblings[self.age[queue]].1 = true;
        }
        let mut level = Level { queues, tree: ScoreTree::new(self.weights, &siblings), first: None };
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
        level.tree.turn(self.age[queue], figures(&state.tree, queue, state.fair_share), waits);
        level.choose();
    }
}
