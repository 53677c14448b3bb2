//! Progressive filling of `drf` in closed steps (DIVISION §4): a step ends with the next event, at which the set of
//! growing leaves or their rates of growth change.
//!
//! Every node has its own clock. A leaf's clock is its dominant share; an inner node's clock is the level (dominant
//! share / weight) that its growing children share. The growth of a subtree depends on nothing outside of it, so an
//! event updates only the path from its node to the root. The other nodes catch up when their values are needed.

use std::cmp::Reverse;

use super::clock::{NonNanFloat, close, keep_earliest};
use super::node::{FillingEvent, FillingNode, StopReason};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::queues::Bound;

/// The state of the filling. The last node is a virtual parent of the roots.
pub(super) struct DrfFilling<'a> {
    tree: &'a QueueTree,
    nodes: Vec<FillingNode>,
    /// The part of the capacity that each node holds, by slot.
    held: QueueSlotGrid<f64>,
    /// The growth of `held` per unit of the node's clock.
    growth: QueueSlotGrid<f64>,
    /// The growth that a child adds to its parent, per unit of the parent's clock.
    adds: QueueSlotGrid<f64>,
    /// The sum of `adds` over the growing children.
    sum: QueueSlotGrid<f64>,
    limits: QueueSlotGrid<f64>,
    used_up: Vec<bool>,
}

impl<'a> DrfFilling<'a> {
    pub fn new(tree: &'a QueueTree) -> Self {
        let (rows, width) = (tree.len() + 1, tree.slots.len());
        let zeros = QueueSlotGrid::new(rows, width, 0.0);
        let mut filling = Self {
            tree,
            nodes: (0..rows).map(|q| FillingNode::new(tree.queues.get(q).map_or(1.0, |q| q.weight.to_f64()))).collect(),
            held: zeros.clone(),
            growth: zeros.clone(),
            adds: zeros.clone(),
            sum: zeros,
            limits: QueueSlotGrid::new(rows, width, 1.0),
            used_up: tree.capacity.iter().map(|c| c.is_zero()).collect(),
        };
        for queue in 0..tree.len() {
            filling.prepare(queue);
        }
        filling.rebuild(tree.len());
        filling
    }

    fn prepare(&mut self, queue: usize) {
        let tree = self.tree;
        for column in 0..tree.slots.len() {
            let (cell, capacity) = ((queue, column), tree.capacity[column].to_f64());
            self.limits[cell] = match tree.limit[cell] {
                Bound::Limited(limit) if capacity > 0.0 => limit.to_f64() / capacity,
                _ => f64::INFINITY,
            };
        }
        if !tree.is_leaf(queue) {
            return;
        }
        let share = |column: usize| {
            let (request, capacity) = (tree.request[(queue, column)].to_f64(), tree.capacity[column].to_f64());
            if request > 0.0 { request / capacity } else { 0.0 }
        };
        let demand = (0..tree.slots.len()).map(share).fold(0.0, f64::max);
        let node = &mut self.nodes[queue];
        (node.demand, node.full, node.stop) = (demand, demand, Some(StopReason::Request));
        node.can_grow = demand > 0.0 && demand.is_finite();
        if !node.can_grow {
            // A slot that is asked for and of which there is no capacity counts as used up from the start.
            let missing = (0..tree.slots.len()).find(|column| share(*column).is_infinite());
            node.stop = missing.map(StopReason::UsedUp);
            return;
        }
        for column in 0..tree.slots.len() {
            let growth = share(column) / demand;
            self.growth[(queue, column)] = growth;
            let full = self.limits[(queue, column)] / growth;
            if growth > 0.0 && full < node.full {
                (node.full, node.stop) = (full, Some(StopReason::Limit(queue, column)));
            }
        }
        node.can_grow = node.full > 0.0;
        (node.rate, node.next, node.source) = (1.0, node.full, FillingEvent::Full);
    }

    /// The part of its demand that a leaf has (0 to 1), and why it stopped growing.
    pub fn leaf(&self, queue: usize) -> (f64, Option<StopReason>) {
        let node = &self.nodes[queue];
        let part = if node.demand > 0.0 && node.demand.is_finite() { node.dominant / node.demand } else { 0.0 };
        (part, node.stop)
    }

    /// True if a leaf's growth was ended by something that it shares with other leaves: a slot of the capacity, or the
    /// limit of a queue above it.
    pub fn is_held_back(&self, leaf: usize) -> bool {
        match self.nodes[leaf].stop {
            Some(StopReason::UsedUp(_)) => true,
            Some(StopReason::Limit(queue, _)) => queue != leaf,
            _ => false,
        }
    }

    /// Fills until no leaf can grow.
    pub fn run(&mut self) {
        let root = self.tree.len();
        // Every leaf, slot and limit ends once, with a few switches and catch-ups between these events, so a correct
        // run stays below this number. The bound ends a run that rounding would keep alive.
        let most = 100_000 + 64 * self.nodes.len() * (1 + self.tree.slots.len());
        for _ in 0..most {
            if !self.nodes[root].next.is_finite() {
                break;
            }
            self.step(root);
        }
        let below = self.subtree(root);
        self.catch_up(&below);
    }

    fn step(&mut self, root: usize) {
        let mut at = root;
        self.advance(at, self.nodes[at].next);
        while let FillingEvent::Child(child) = self.nodes[at].source {
            at = child;
            self.advance(at, self.nodes[at].next);
        }
        match self.nodes[at].source {
            FillingEvent::Full => {
                let node = &mut self.nodes[at];
                (node.can_grow, node.dominant) = (false, node.full);
            }
            FillingEvent::CatchUp => {
                if let Some((_, child)) = self.nodes[at].ahead.pop() {
                    self.attach(at, child);
                }
            }
            FillingEvent::Limit(column) => self.stop_growth(at, column),
            FillingEvent::Switch | FillingEvent::Child(_) => {}
        }
        self.update_upwards(at);
    }

    /// Moves a node's clock to `to`. If one child grows alone, its clock moves as well, and so on down the tree.
    fn advance(&mut self, mut at: usize, mut to: f64) {
        loop {
            let node = &mut self.nodes[at];
            let passed = (to - node.now).max(0.0);
            node.now += passed;
            node.dominant += node.rate * passed;
            for (held, growth) in self.held.row_mut(at).iter_mut().zip(self.growth.row(at)) {
                *held += growth * passed;
            }
            let Some(free) = node.free.last().copied() else {
                node.level += passed;
                return;
            };
            (at, to) = (free, self.nodes[free].now + passed);
        }
    }

    /// A met limit ends the growth of all leaves below that need the slot.
    fn stop_growth(&mut self, at: usize, column: usize) {
        let root = self.tree.len();
        if at == root {
            self.used_up[column] = true;
        }
        self.limits[(at, column)] = f64::INFINITY;
        let below = self.subtree(at);
        self.catch_up(&below);
        for queue in below {
            let needs = queue < root && self.tree.is_leaf(queue) && self.growth[(queue, column)] > 0.0;
            if needs && self.nodes[queue].can_grow {
                let stop = if at == root { StopReason::UsedUp(column) } else { StopReason::Limit(at, column) };
                self.nodes[queue].end(stop);
            }
        }
        self.rebuild(at);
    }

    /// The nodes of the subtree of `at`, parents first.
    fn subtree(&self, at: usize) -> Vec<usize> {
        let mut below = vec![at];
        let mut next = 0;
        while next < below.len() {
            below.extend_from_slice(self.children(below[next]));
            next += 1;
        }
        below
    }

    fn children(&self, at: usize) -> &'a [usize] {
        self.tree.children((at < self.tree.len()).then_some(at))
    }

    /// Moves the clocks of the growing nodes in `below` to the level of their parents. Parents come first in `below`.
    fn catch_up(&mut self, below: &[usize]) {
        for at in below {
            for child in self.children(*at) {
                let (node, inner) = (&self.nodes[*at], &self.nodes[*child]);
                if inner.grows && inner.rate > 0.0 {
                    let behind = node.level * self.weight(*at, *child) - inner.dominant;
                    self.advance(*child, inner.now + (behind / inner.rate).max(0.0));
                }
            }
        }
    }

    fn weight(&self, at: usize, child: usize) -> f64 {
        if self.nodes[at].weightless { 1.0 } else { self.nodes[child].weight }
    }

    /// Chooses again, at every inner node of the subtree, which children can grow and from which level.
    fn rebuild(&mut self, at: usize) {
        for node in self.subtree(at).into_iter().rev() {
            if node == self.tree.len() || !self.tree.is_leaf(node) {
                self.select(node);
                self.refresh(node);
            }
        }
    }

    /// Chooses the children that grow: among the children that can grow, the ones with the smallest dominant share /
    /// weight.
    fn select(&mut self, at: usize) {
        let children = self.children(at);
        let able = |f: &Self, weighted: bool| {
            let can = |q: &usize| f.nodes[*q].can_grow && (f.nodes[*q].weight > 0.0) == weighted;
            children.iter().copied().filter(can).collect::<Vec<usize>>()
        };
        let mut chosen = able(self, true);
        self.nodes[at].weightless = chosen.is_empty();
        if chosen.is_empty() {
            chosen = able(self, false);
        }
        for child in children {
            self.nodes[*child].grows = false;
        }
        self.sum.row_mut(at).fill(0.0);
        let mut ahead: Vec<(f64, usize)> =
            chosen.into_iter().map(|c| (self.nodes[c].dominant / self.weight(at, c), c)).collect();
        ahead.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| self.tree.by_age(b.1, a.1)));
        let node = &mut self.nodes[at];
        (node.growing, node.can_grow) = (0, !ahead.is_empty());
        node.events.clear();
        node.free.clear();
        node.ahead = ahead;
        self.promote(at);
    }

    /// Lets the children on the lowest level of `ahead` grow. Called when no child grows.
    fn promote(&mut self, at: usize) {
        let Some((level, _)) = self.nodes[at].ahead.last().copied() else { return };
        self.nodes[at].level = level;
        while let Some((_, child)) = self.nodes[at].ahead.pop_if(|(l, _)| close(*l, level)) {
            self.attach(at, child);
        }
    }

    fn attach(&mut self, at: usize, child: usize) {
        let weight = self.weight(at, child);
        self.nodes[at].growing += 1;
        self.nodes[at].counted = self.nodes[at].counted.max(self.nodes[at].growing);
        let inner = &mut self.nodes[child];
        inner.grows = true;
        inner.turn += 1;
        if inner.rate > 0.0 {
            let event = (inner.dominant + inner.rate * (inner.next - inner.now)) / weight;
            let (turn, speed) = (inner.turn, weight / inner.rate);
            self.nodes[at].events.push(Reverse((NonNanFloat(event), child, turn)));
            for column in 0..self.used_up.len() {
                let adds = speed * self.growth[(child, column)];
                self.adds[(child, column)] = adds;
                self.sum[(at, column)] += adds;
            }
        } else {
            self.adds.row_mut(child).fill(0.0);
            self.nodes[at].free.push(child);
        }
    }

    fn detach(&mut self, at: usize, child: usize) {
        let node = &mut self.nodes[at];
        node.growing -= 1;
        if node.free.last() == Some(&child) {
            node.free.pop();
        } else {
            node.free.retain(|c| *c != child);
        }
        self.nodes[child].grows = false;
        self.nodes[child].turn += 1;
        for column in 0..self.used_up.len() {
            self.sum[(at, column)] -= self.adds[(child, column)];
        }
    }

    /// Sums up the growth of the children again whenever half of the counted ones have stopped, because repeated
    /// subtraction would let rounding errors accumulate.
    fn add_up(&mut self, at: usize) {
        if self.nodes[at].growing * 2 > self.nodes[at].counted {
            return;
        }
        self.nodes[at].counted = self.nodes[at].growing;
        self.sum.row_mut(at).fill(0.0);
        for child in self.children(at).iter().filter(|c| self.nodes[**c].grows) {
            for (sum, adds) in self.sum.row_mut(at).iter_mut().zip(self.adds.row(*child)) {
                *sum += adds;
            }
        }
    }

    fn update_upwards(&mut self, mut at: usize) {
        let root = self.tree.len();
        loop {
            if at == root || !self.tree.is_leaf(at) {
                if self.nodes[at].growing == 0 && self.nodes[at].can_grow {
                    self.promote(at);
                    if self.nodes[at].growing == 0 {
                        self.select(at);
                    }
                }
                self.add_up(at);
                self.refresh(at);
            }
            if at == root {
                return;
            }
            let parent = self.tree.queues[at].parent.unwrap_or(root);
            if self.nodes[at].grows {
                self.detach(parent, at);
                if self.nodes[at].can_grow {
                    self.attach(parent, at);
                }
            }
            at = parent;
        }
    }

    /// Recomputes the growth, the dominant share and the next event of an inner node.
    fn refresh(&mut self, at: usize) {
        let source = self.nodes[at].free.last().copied();
        for column in 0..self.used_up.len() {
            self.growth[(at, column)] = match source {
                Some(free) => self.growth[(free, column)],
                None => self.sum[(at, column)],
            };
        }
        let open = || (0..self.used_up.len()).filter(|column| !self.used_up[*column]);
        let dominant = open().map(|column| self.held[(at, column)]).fold(0.0, f64::max);
        let at_top = open().filter(|column| close(self.held[(at, *column)], dominant));
        let rate = at_top.map(|column| self.growth[(at, column)]).fold(0.0, f64::max);
        let (next, source) = self.next_event(at, dominant, rate);
        let node = &mut self.nodes[at];
        (node.dominant, node.rate, node.next, node.source) = (dominant, rate, next, source);
    }

    fn next_event(&mut self, at: usize, dominant: f64, rate: f64) -> (f64, FillingEvent) {
        let mut next = (f64::INFINITY, FillingEvent::Switch);
        let (now, level) = (self.nodes[at].now, self.nodes[at].level);
        if let Some(free) = self.nodes[at].free.last().copied() {
            let inner = &self.nodes[free];
            keep_earliest(&mut next, now + (inner.next - inner.now), FillingEvent::Child(free));
        } else {
            while let Some(Reverse((event, child, turn))) = self.nodes[at].events.peek().copied() {
                if self.nodes[child].grows && self.nodes[child].turn == turn {
                    keep_earliest(&mut next, now + (event.0 - level), FillingEvent::Child(child));
                    break;
                }
                self.nodes[at].events.pop();
            }
            if let Some((ahead, _)) = self.nodes[at].ahead.last() {
                keep_earliest(&mut next, now + (ahead - level), FillingEvent::CatchUp);
            }
        }
        if !self.nodes[at].can_grow {
            return (f64::INFINITY, FillingEvent::Switch);
        }
        for column in (0..self.used_up.len()).filter(|column| !self.used_up[*column]) {
            let (held, growth) = (self.held[(at, column)], self.growth[(at, column)]);
            if growth > rate && !close(held, dominant) {
                keep_earliest(&mut next, now + (dominant - held) / (growth - rate), FillingEvent::Switch);
            }
            if growth > 0.0 {
                keep_earliest(
                    &mut next,
                    now + (self.limits[(at, column)] - held) / growth,
                    FillingEvent::Limit(column),
                );
            }
        }
        (next.0.max(now), next.1)
    }
}
