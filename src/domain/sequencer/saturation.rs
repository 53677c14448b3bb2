use std::cmp::Ordering;

use super::turns::{QueueClaims, Standing, Turns, by_priority};
use super::{Sequence, Standings, Workload};
use crate::domain::division::Position;
use crate::domain::division::order::{Key, compare, key};

/// KAI's queue order (division, appendix B): queues take turns, the lowest allocated / fair share first.
pub(super) struct Saturation;

impl Sequence for Saturation {
    fn name(&self) -> &'static str {
        "saturation"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by turns of queues, lowest allocated / fair share first"
    }

    fn keys(&self, workloads: &[Workload], _: &Standings) -> Vec<u64> {
        by_priority(workloads)
    }

    fn turns<'a>(&self, claims: &'a QueueClaims<'a>) -> Option<Box<dyn Turns + 'a>> {
        Some(Box::new(Keys(vec![None; claims.tree.len()])))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

/// By queue.
struct Keys(Vec<Option<Key>>);

fn position<'a>(standing: &'a Standing, queue: usize) -> Position<'a> {
    let (allocated, fair_share) = (standing.tree.allocated.row(queue), standing.fair_share.row(queue));
    Position { tree: &standing.tree, queue, allocated, fair_share }
}

impl Turns for Keys {
    fn update(&mut self, standing: &Standing, queue: usize) {
        self.0[queue] = Some(key(&position(standing, queue), standing.next.row(queue), &[]));
    }

    fn settle(&mut self, _: &Standing, _: Option<usize>) -> bool {
        false
    }

    fn first(&self, standing: &Standing, a: usize, b: usize) -> bool {
        let (Some(key_a), Some(key_b)) = (&self.0[a], &self.0[b]) else { return false };
        compare((&position(standing, a), key_a), (&position(standing, b), key_b)) == Ordering::Less
    }
}
