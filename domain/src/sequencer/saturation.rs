//! `saturation`: KAI's queue order (DIVISION appendix B).

use std::cmp::Ordering;

use super::turns::{QueueClaims, TurnState, Turns, by_priority};
use super::{Sequence, ShareLookup, Workload};
use crate::division::Position;
use crate::division::report::order::{Key, compare, key};
use crate::division::tree::heaps::SiblingHeaps;

/// KAI's queue order (DIVISION appendix B): queues take turns, the lowest allocated / fair share first.
pub(super) struct Saturation;

impl Sequence for Saturation {
    fn name(&self) -> &'static str {
        "saturation"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by turns of queues, lowest allocated / fair share first"
    }

    fn keys(&self, workloads: &[Workload], _: &dyn ShareLookup) -> Vec<u64> {
        by_priority(workloads)
    }

    fn turns<'a>(&self, claims: &'a QueueClaims<'a>) -> Option<Box<dyn Turns + 'a>> {
        let rows = claims.tree.len();
        Some(Box::new(BySaturation { keys: vec![None; rows], heaps: SiblingHeaps::new(rows) }))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

struct BySaturation {
    /// The sort key of each queue.
    keys: Vec<Option<Key>>,
    /// The children that have pending workloads.
    heaps: SiblingHeaps,
}

fn position<'a>(state: &'a TurnState, queue: usize) -> Position<'a> {
    let (allocated, fair_share) = (state.tree.allocated.row(queue), state.fair_share.row(queue));
    Position { tree: &state.tree, queue, allocated, fair_share }
}

fn key_of(state: &TurnState, queue: usize) -> Key {
    key(&position(state, queue), state.next.row(queue), &[])
}

fn is_before(keys: &[Option<Key>], state: &TurnState, a: usize, b: usize) -> bool {
    let (Some(key_a), Some(key_b)) = (&keys[a], &keys[b]) else { return false };
    compare((&position(state, a), key_a), (&position(state, b), key_b)) == Ordering::Less
}

impl Turns for BySaturation {
    fn open(&mut self, state: &TurnState, parent: Option<usize>, waiting: Vec<usize>) {
        let Self { keys, heaps } = self;
        for queue in &waiting {
            keys[*queue] = Some(key_of(state, *queue));
        }
        heaps.fill(parent, waiting, |a, b| is_before(keys, state, a, b));
    }

    fn first(&self, parent: Option<usize>) -> Option<usize> {
        self.heaps.first(parent)
    }

    fn gave(&mut self, state: &TurnState, queue: usize, waits: bool) {
        let Self { keys, heaps } = self;
        let parent = state.tree.queues[queue].parent;
        if waits {
            keys[queue] = Some(key_of(state, queue));
            heaps.move_first(parent, |a, b| is_before(keys, state, a, b));
        } else {
            // The queue that gave is the first of its siblings.
            heaps.remove_first(parent, |a, b| is_before(keys, state, a, b));
        }
    }
}
