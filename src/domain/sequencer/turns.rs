//! Queues take turns (division §5): again and again the queue that comes first gives its next workload, which counts
//! as allocated from then on. One heap for each queue's children; only the queues above the giver move in theirs.

use super::Workload;
use crate::domain::decimal::Amount;
use crate::domain::division::options::ScoreWeights;
use crate::domain::division::{Grid, Tree};
use crate::domain::slots::Amounts;

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
pub(super) struct Standing<'a> {
    /// Its allocations grow.
    pub tree: Tree,
    pub fair_share: &'a Grid<Amount>,
    /// By queue: what its next workload asks for.
    pub next: Grid<Amount>,
}

/// Which of two siblings gives first.
pub(super) trait Turns {
    /// The figures or the next workload of a queue have changed.
    fn update(&mut self, standing: &Standing, queue: usize);

    /// Whether what children of `parent` are compared by has moved for all of them, so that their heap is made anew.
    fn settle(&mut self, standing: &Standing, parent: Option<usize>) -> bool;

    fn first(&self, standing: &Standing, a: usize, b: usize) -> bool;
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
    standing: Standing<'a>,
    /// By queue, the roots last: children that still have workloads, the first at the top.
    heaps: Vec<Vec<usize>>,
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
        let standing = Standing { tree, fair_share: claims.fair_share, next };
        let mut walk = Self { claims, turns, standing, heaps: vec![Vec::new(); rows + 1], own, next: vec![None; rows] };
        for queue in claims.tree.top_down().iter().rev().copied() {
            walk.heapify(Some(queue));
            if walk.look_ahead(queue) {
                walk.turns.update(&walk.standing, queue);
                let parent = claims.tree.queues[queue].parent.unwrap_or(rows);
                walk.heaps[parent].push(queue);
            }
        }
        walk.heapify(None);
        walk
    }

    fn next(&mut self) -> Option<u32> {
        let (tree, roots) = (self.claims.tree, self.heaps.len() - 1);
        let mut queue = *self.heaps[roots].first()?;
        while self.own[queue].is_empty() {
            queue = *self.heaps[queue].first()?;
        }
        let workload = self.own[queue].pop()?;
        for (slot, amount) in self.claims.requests[workload as usize].iter() {
            let Some(column) = tree.column(slot) else { continue };
            for at in tree.ancestry(queue) {
                let held = &mut self.standing.tree.allocated[(at, column)];
                *held = held.saturating_add(amount);
            }
        }
        for at in tree.ancestry(queue) {
            let parent = tree.queues[at].parent;
            let heap = parent.unwrap_or(roots);
            if self.look_ahead(at) {
                self.turns.update(&self.standing, at);
            } else {
                // Whoever gives stands at the top of every heap above it.
                self.heaps[heap].swap_remove(0);
            }
            if self.turns.settle(&self.standing, parent) {
                self.rebuild(heap);
            } else {
                self.sift(heap, 0);
            }
        }
        Some(workload)
    }

    /// Finds what the queue would give next. Returns whether there is anything.
    fn look_ahead(&mut self, queue: usize) -> bool {
        let child = self.heaps[queue].first().copied();
        let next = self.own[queue].last().copied().or_else(|| self.next[child?]);
        if next != self.next[queue] {
            self.next[queue] = next;
            let row = self.standing.next.row_mut(queue);
            row.fill(Amount::ZERO);
            for (slot, amount) in next.iter().flat_map(|w| self.claims.requests[*w as usize].iter()) {
                if let Some(column) = self.claims.tree.column(slot) {
                    row[column] = amount;
                }
            }
        }
        next.is_some()
    }

    fn heapify(&mut self, parent: Option<usize>) {
        self.turns.settle(&self.standing, parent);
        self.rebuild(parent.unwrap_or(self.heaps.len() - 1));
    }

    fn rebuild(&mut self, heap: usize) {
        for at in (0..self.heaps[heap].len() / 2).rev() {
            self.sift(heap, at);
        }
    }

    fn sift(&mut self, heap: usize, mut at: usize) {
        loop {
            let len = self.heaps[heap].len();
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                let members = &self.heaps[heap];
                if child < len && self.turns.first(&self.standing, members[child], members[first]) {
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
