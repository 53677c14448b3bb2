//! Queues take turns (DIVISION §5): again and again the queue that comes first gives its next workload, which counts
//! as allocated from then on. Only the queues above the giver change.

pub(super) mod score_tree;

use super::Workload;
use crate::decimal::Amount;
use crate::division::score_weights::ScoreWeights;
use crate::division::{Grid, Tree};
use crate::slots::Amounts;

/// The queues that workloads wait in, and what each queue deserves.
pub struct QueueClaims<'a> {
    pub tree: &'a Tree,
    pub fair_share: &'a Grid<Amount>,
    pub score_weights: &'a ScoreWeights,
    /// By workload: its queue's place in the tree.
    pub queue: &'a [usize],
    /// By workload: what it will hold.
    pub requests: &'a [Amounts],
}

/// What a rule of turns compares: figures while workloads are handed out.
pub(super) struct TurnState<'a> {
    /// Its allocations grow.
    pub tree: Tree,
    pub fair_share: &'a Grid<Amount>,
    /// By queue: what its next workload asks for.
    pub next: Grid<Amount>,
}

/// Which of its children a queue lets give first, and which root comes first.
pub(super) trait Turns {
    /// These children of `parent` have workloads to give.
    fn open(&mut self, state: &TurnState, parent: Option<usize>, waiting: Vec<usize>);

    /// The child that gives next; `None`: no child has anything left.
    fn first(&self, parent: Option<usize>) -> Option<usize>;

    /// The queue that came first among its siblings gave something; whether it still waits, with what comes next.
    fn gave(&mut self, state: &TurnState, queue: usize, waits: bool);
}

/// Workloads of one queue: priority first.
pub(super) fn by_priority(workloads: &[Workload]) -> Vec<u64> {
    workloads.iter().map(|w| (i64::from(i32::MAX) - i64::from(w.priority)).unsigned_abs()).collect()
}

/// Hands out all workloads; `order` is that of each queue's own ones.
pub(super) fn take(order: Vec<u32>, claims: &QueueClaims, turns: &mut dyn Turns) -> Vec<u32> {
    let mut walk = Walk::new(order, claims, turns);
    let mut taken = Vec::with_capacity(claims.queue.len());
    while let Some(workload) = walk.next() {
        taken.push(workload);
    }
    taken
}

struct Walk<'a> {
    claims: &'a QueueClaims<'a>,
    turns: &'a mut dyn Turns,
    state: TurnState<'a>,
    /// By queue: its own workloads, the next one last. They go before those of its children.
    own: Vec<Vec<u32>>,
    /// By queue: the workload that it would give.
    next: Vec<Option<u32>>,
}

impl<'a> Walk<'a> {
    fn new(order: Vec<u32>, claims: &'a QueueClaims<'a>, turns: &'a mut dyn Turns) -> Self {
        let tree = claims.tree.clone();
        let rows = tree.len();
        let mut own: Vec<Vec<u32>> = vec![Vec::new(); rows];
        for workload in order.into_iter().rev() {
            own[claims.queue[workload as usize]].push(workload);
        }
        let next = Grid::new(rows, tree.slots.len(), Amount::ZERO);
        let state = TurnState { tree, fair_share: claims.fair_share, next };
        let mut walk = Self { claims, turns, state, own, next: vec![None; rows] };
        // By queue, the roots last.
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

    /// Finds what the queue would give next. Returns whether there is anything.
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
