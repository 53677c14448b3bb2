//! `saturation`: KAI's queue order (DIVISION appendix B).

use std::cmp::Ordering;

use super::turns::{QueueClaims, TurnRule, TurnState, by_priority};
use super::{SequenceRule, SequenceWorkload, ShareLookup};
use crate::division::QueueAllocation;
use crate::division::report::order::{QueueOrderKey, compare, key};
use crate::division::tree::heaps::SiblingHeaps;

/// KAI's queue order (DIVISION appendix B): queues take turns, the lowest allocated / fair share first.
pub(super) struct SaturationSequencer;

impl SequenceRule for SaturationSequencer {
    fn name(&self) -> &'static str {
        "saturation"
    }

    fn summary(&self) -> &'static str {
        "The queue that lacks most of its share starts first."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by turns of queues, lowest allocated / fair share first"
    }

    fn keys(&self, workloads: &[SequenceWorkload], _: &dyn ShareLookup) -> Vec<u64> {
        by_priority(workloads)
    }

    fn turns<'a>(&self, claims: &'a QueueClaims<'a>) -> Option<Box<dyn TurnRule + 'a>> {
        Some(Box::new(BySaturation::new(claims.tree.len(), false)))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

pub(crate) struct BySaturation {
    /// The sort key of each queue. Before it stands whether the queue comes last because it has its share.
    keys: Vec<Option<(bool, QueueOrderKey)>>,
    /// The children that have pending workloads.
    heaps: SiblingHeaps,
    shares_first: bool,
}

impl BySaturation {
    /// The rule for that many queues. With `shares_first` a queue that has its share comes after all others.
    pub fn new(queues: usize, shares_first: bool) -> Self {
        Self { keys: vec![None; queues], heaps: SiblingHeaps::new(queues), shares_first }
    }
}

fn position<'a>(state: &'a TurnState, queue: usize) -> QueueAllocation<'a> {
    let (allocated, fair_share) = (state.tree.allocated.row(queue), state.fair_share.row(queue));
    QueueAllocation { tree: &state.tree, queue, allocated, fair_share }
}

fn key_of(state: &TurnState, queue: usize, shares_first: bool) -> (bool, QueueOrderKey) {
    (shares_first && state.has_its_share(queue), key(&position(state, queue), state.next.row(queue), &[]))
}

fn is_before(keys: &[Option<(bool, QueueOrderKey)>], state: &TurnState, a: usize, b: usize) -> bool {
    let (Some((last_a, key_a)), Some((last_b, key_b))) = (&keys[a], &keys[b]) else { return false };
    let by_key = || compare((&position(state, a), key_a), (&position(state, b), key_b));
    last_a.cmp(last_b).then_with(by_key) == Ordering::Less
}

impl TurnRule for BySaturation {
    fn open(&mut self, state: &TurnState, parent: Option<usize>, waiting: Vec<usize>) {
        let Self { keys, heaps, shares_first } = self;
        for queue in &waiting {
            keys[*queue] = Some(key_of(state, *queue, *shares_first));
        }
        heaps.fill(parent, waiting, |a, b| is_before(keys, state, a, b));
    }

    fn first(&self, parent: Option<usize>) -> Option<usize> {
        self.heaps.first(parent)
    }

    fn gave(&mut self, state: &TurnState, queue: usize, waits: bool) {
        let Self { keys, heaps, shares_first } = self;
        let parent = state.tree.queues[queue].parent;
        if waits {
            keys[queue] = Some(key_of(state, queue, *shares_first));
            heaps.move_first(parent, |a, b| is_before(keys, state, a, b));
        } else {
            // The queue that gave is the first of its siblings.
            heaps.remove_first(parent, |a, b| is_before(keys, state, a, b));
        }
    }
}
