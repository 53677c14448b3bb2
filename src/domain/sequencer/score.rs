use super::turns::{QueueClaims, Standing, Turns, by_priority};
use super::{Sequence, Standings, Workload};
use crate::domain::division::options::ScoreWeights;
use crate::domain::division::order::{Scale, figures};

/// kube-batch's queue score (division §5): queues take turns, the highest score first.
pub(super) struct Score;

impl Sequence for Score {
    fn name(&self) -> &'static str {
        "score"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by turns of queues, highest score first"
    }

    fn keys(&self, workloads: &[Workload], _: &Standings) -> Vec<u64> {
        by_priority(workloads)
    }

    fn turns<'a>(&self, claims: &'a QueueClaims<'a>) -> Option<Box<dyn Turns + 'a>> {
        let rows = claims.tree.len();
        let level = Level { scale: Scale::default(), turns: 0 };
        Some(Box::new(Scores {
            weights: claims.score_weights,
            figures: vec![[0.0; 3]; rows],
            levels: vec![level; rows + 1],
        }))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

/// Figures are normalised between the smallest and the largest among siblings (§5). Taking those anew concerns every
/// sibling, so among very many of them it happens only every so many turns: a turn never costs more than this.
const SIBLINGS_A_TURN: usize = 64;

struct Scores<'a> {
    weights: &'a ScoreWeights,
    /// By queue.
    figures: Vec<[f64; 3]>,
    /// By parent, the roots last.
    levels: Vec<Level>,
}

#[derive(Clone)]
struct Level {
    scale: Scale,
    /// Since the scale was taken.
    turns: usize,
}

impl Scores<'_> {
    fn level_of(&self, standing: &Standing, queue: usize) -> &Level {
        let place = standing.tree.queues[queue].parent.unwrap_or(self.levels.len() - 1);
        &self.levels[place]
    }
}

impl Turns for Scores<'_> {
    fn update(&mut self, standing: &Standing, queue: usize) {
        self.figures[queue] = figures(&standing.tree, queue, standing.fair_share);
    }

    fn settle(&mut self, standing: &Standing, parent: Option<usize>) -> bool {
        let siblings = standing.tree.children(parent);
        let place = parent.unwrap_or(self.levels.len() - 1);
        let level = &mut self.levels[place];
        level.turns += 1;
        let is_first = level.scale == Scale::default();
        if !is_first && level.turns * SIBLINGS_A_TURN < siblings.len() {
            return false;
        }
        level.turns = 0;
        if is_first {
            // Siblings that have nothing to give count as well.
            for queue in siblings {
                self.figures[*queue] = figures(&standing.tree, *queue, standing.fair_share);
            }
        }
        let scale = Scale::of(siblings.iter().map(|q| self.figures[*q]));
        let moved = scale != self.levels[place].scale;
        self.levels[place].scale = scale;
        moved
    }

    fn first(&self, standing: &Standing, a: usize, b: usize) -> bool {
        let scale = &self.level_of(standing, a).scale;
        let score = |queue: usize| scale.score(self.figures[queue], self.weights).total;
        score(b).total_cmp(&score(a)).then_with(|| standing.tree.by_age(a, b)).is_lt()
    }
}
