use std::cmp::Ordering;

use super::turns::{QueueClaims, Standing, Turns, by_priority};
use super::{Sequence, Standings, Workload};
use crate::domain::division::Position;
use crate::domain::division::report::order::{Key, compare, key};

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
        let rows = claims.tree.len();
        Some(Box::new(Heaps { keys: vec![None; rows], heaps: vec![Vec::new(); rows + 1] }))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

struct Heaps {
    /// By queue.
    keys: Vec<Option<Key>>,
    /// By parent, the roots last: children that wait, the first at the top.
    heaps: Vec<Vec<usize>>,
}

fn position<'a>(standing: &'a Standing, queue: usize) -> Position<'a> {
    let (allocated, fair_share) = (standing.tree.allocated.row(queue), standing.fair_share.row(queue));
    Position { tree: &standing.tree, queue, allocated, fair_share }
}

impl Heaps {
    fn place(&self, parent: Option<usize>) -> usize {
        parent.unwrap_or(self.heaps.len() - 1)
    }

    fn update(&mut self, standing: &Standing, queue: usize) {
        self.keys[queue] = Some(key(&position(standing, queue), standing.next.row(queue), &[]));
    }

    fn is_before(&self, standing: &Standing, a: usize, b: usize) -> bool {
        let (Some(key_a), Some(key_b)) = (&self.keys[a], &self.keys[b]) else { return false };
        compare((&position(standing, a), key_a), (&position(standing, b), key_b)) == Ordering::Less
    }

    fn sift(&mut self, standing: &Standing, heap: usize, mut at: usize) {
        loop {
            let len = self.heaps[heap].len();
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                let members = &self.heaps[heap];
                if child < len && self.is_before(standing, members[child], members[first]) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heaps[heap].swap(at, first);
            at = first;
        }
    }
}

impl Turns for Heaps {
    fn open(&mut self, standing: &Standing, parent: Option<usize>, waiting: Vec<usize>) {
        for queue in &waiting {
            self.update(standing, *queue);
        }
        let heap = self.place(parent);
        self.heaps[heap] = waiting;
        for at in (0..self.heaps[heap].len() / 2).rev() {
            self.sift(standing, heap, at);
        }
    }

    fn first(&self, parent: Option<usize>) -> Option<usize> {
        self.heaps[self.place(parent)].first().copied()
    }

    fn gave(&mut self, standing: &Standing, queue: usize, waits: bool) {
        let heap = self.place(standing.tree.queues[queue].parent);
        if waits {
            self.update(standing, queue);
        } else {
            // Whoever gives stands at the top.
            self.heaps[heap].swap_remove(0);
        }
        self.sift(standing, heap, 0);
    }
}
