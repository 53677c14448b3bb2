//! Queues take turns (DIVISION §5): at each turn the queue that comes first gives its next workload, which counts as
//! allocated from then on. A turn changes only the queue that gives and the queues above it.

pub(super) mod score_tree;

use super::SequenceWorkload;
use crate::decimal::Amount;
use crate::division::score_weights::ScoreWeights;
use crate::division::{QueueSlotGrid, QueueTree};
use crate::slots::SlotAmounts;

/// The queues of the pending workloads, and the amounts that each queue deserves.
pub struct QueueClaims<'a> {
    pub tree: &'a QueueTree,
    pub fair_share: &'a QueueSlotGrid<Amount>,
    pub score_weights: &'a ScoreWeights,
    /// By workload: the index of its queue in the tree.
    pub queue: &'a [usize],
    /// By workload: the amounts that it will hold.
    pub requests: &'a [SlotAmounts],
}

/// The state that a rule of turns compares, while workloads are handed out.
pub(crate) struct TurnState<'a> {
    /// The tree; its allocations grow with every turn.
    pub tree: QueueTree,
    pub fair_share: &'a QueueSlotGrid<Amount>,
    /// By queue: the request of its next workload.
    pub next: QueueSlotGrid<Amount>,
}

impl TurnState<'_> {
    /// True if the queue holds its fair share or more on every slot (kube-batch's overused).
    pub fn has_its_share(&self, queue: usize) -> bool {
        let (held, share) = (self.tree.allocated.row(queue), self.fair_share.row(queue));
        held.iter().zip(share).all(|(held, share)| held >= share)
    }
}

/// A rule of turns: it chooses the first of siblings.
pub(crate) trait TurnRule {
    /// Registers the children of `parent` that have workloads to give.
    fn open(&mut self, state: &TurnState, parent: Option<usize>, waiting: Vec<usize>);

    /// The child that gives next; `None` if no child has a workload left.
    fn first(&self, parent: Option<usize>) -> Option<usize>;

    /// Notes that the first of siblings gave a workload. `waits` is true if the queue has another one, which is its
    /// `next` now.
    fn gave(&mut self, state: &TurnState, queue: usize, waits: bool);
}

/// The sort keys of workloads inside a queue: the highest priority first.
pub(super) fn by_priority(workloads: &[SequenceWorkload]) -> Vec<u64> {
    workloads.iter().map(|w| (i64::from(i32::MAX) - i64::from(w.priority)).unsigned_abs()).collect()
}

/// Hands out all workloads. `order` is the order of the workloads inside each queue.
pub(super) fn hand_out(order: Vec<u32>, claims: &QueueClaims, turns: &mut dyn TurnRule) -> Vec<u32> {
    let mut walk = QueueWalk::new(order, claims, turns);
    let mut taken = Vec::with_capacity(claims.queue.len());
    while let Some(workload) = walk.next() {
        taken.push(workload);
    }
    taken
}

struct QueueWalk<'a> {
    claims: &'a QueueClaims<'a>,
    turns: &'a mut dyn TurnRule,
    state: TurnState<'a>,
    /// By queue: its own workloads, the next one last. They go before those of its children.
    own: Vec<Vec<u32>>,
    /// By queue: the workload that it would give next.
    next: Vec<Option<u32>>,
}

impl<'a> QueueWalk<'a> {
    fn new(order: Vec<u32>, claims: &'a QueueClaims<'a>, turns: &'a mut dyn TurnRule) -> Self {
        let tree = claims.tree.clone();
        let rows = tree.len();
        let mut own: Vec<Vec<u32>> = vec![Vec::new(); rows];
        for workload in order.into_iter().rev() {
            own[claims.queue[workload as usize]].push(workload);
        }
        let next = QueueSlotGrid::new(rows, tree.slots.len(), Amount::ZERO);
        let state = TurnState { tree, fair_share: claims.fair_share, next };
        let mut walk = Self { claims, turns, state, own, next: vec![None; rows] };
        // The children with workloads by parent; the roots are last.
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); rows + 1];
        for queue in claims.tree.top_down().iter().rev().copied() {
            walk.turns.open(&walk.state, Some(queue), std::mem::take(&mut waiting[queue]));
            if walk.look_ahead(queue) {
                waiting[claims.tree.queues[queue].parent.unwrap_or(rows)].push(queue);
            }
        }
        walk.turns.open(&walk.state, None, std::mem::take(&mut waiting[rows]));
        walk
    }

    fn next(&mut self) -> Option<u32> {
        let tree = self.claims.tree;
        let mut queue = self.turns.first(None)?;
        while self.own[queue].is_empty() {
            queue = self.turns.first(Some(queue))?;
        }
        let workload = self.own[queue].pop()?;
        for (slot, amount) in self.claims.requests[workload as usize].iter() {
            let Some(column) = tree.column(slot) else { continue };
            for at in tree.ancestry(queue) {
                let held = &mut self.state.tree.allocated[(at, column)];
                *held = held.saturating_add(amount);
            }
        }
        for at in tree.ancestry(queue) {
            let waits = self.look_ahead(at);
            self.turns.gave(&self.state, at, waits);
        }
        Some(workload)
    }

    /// Updates the workload that the queue would give next. Returns true if there is one.
    fn look_ahead(&mut self, queue: usize) -> bool {
        let child = self.turns.first(Some(queue));
        let next = self.own[queue].last().copied().or_else(|| self.next[child?]);
        if next != self.next[queue] {
            self.next[queue] = next;
            let row = self.state.next.row_mut(queue);
            row.fill(Amount::ZERO);
            for (slot, amount) in next.iter().flat_map(|w| self.claims.requests[*w as usize].iter()) {
                if let Some(column) = self.claims.tree.column(slot) {
                    row[column] = amount;
                }
            }
        }
        next.is_some()
    }
}
