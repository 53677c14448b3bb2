//! The queue tree of one resource group (§1), index based: nothing here or below recurses, so neither a chain
//! of queues nor a wide level can exhaust the stack.

pub mod faults;
pub mod grid;
pub mod warning;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::queue::{Bound, OverQuotaBy, OverQuotaWeight, QueueMode, QueueSpec};
use crate::domain::decimal::Amount;
use crate::domain::slots::{Amounts, MAX_SLOTS, SlotName};
use crate::domain::time::Timestamp;
use faults::TreeFault;
use grid::Grid;
use warning::Warning;

/// The most queues x slots of one tree: above any cluster, and what a machine has room for.
const MAX_CELLS: usize = 1_000_000;

/// What the tree keeps of a queue besides its values by slot.
#[derive(Clone, Debug)]
pub struct Queue {
    pub name: Arc<str>,
    pub parent: Option<usize>,
    pub priority: i32,
    pub weight: Amount,
    pub mode: QueueMode,
    pub created_at: Option<Timestamp>,
    pub children_over_quota_by: OverQuotaBy,
    pub min_share_ratio: Amount,
    pub reclaimable: bool,
    pub preempt_min_runtime: Option<u64>,
    pub reclaim_min_runtime: Option<u64>,
    /// Whether `next_request` is known.
    pub has_next: bool,
}

/// Queues by index, in the order in which they were given; values by (queue, column of [`Tree::slots`]).
#[derive(Clone, Debug)]
pub struct Tree {
    pub slots: Vec<SlotName>,
    /// What the roots divide, by column.
    pub capacity: Vec<Amount>,
    pub queues: Vec<Queue>,
    /// At most the limit: a quota above it counts as the limit.
    pub quota: Grid<Bound>,
    pub limit: Grid<Bound>,
    pub guarantee: Grid<Amount>,
    pub over_quota_weight: Grid<Amount>,
    pub request: Grid<Amount>,
    pub allocated: Grid<Amount>,
    pub allocated_non_preemptible: Grid<Amount>,
    pub usage: Grid<Amount>,
    pub next_request: Grid<Amount>,
    /// What was noted while the tree was built; the linter adds the rest.
    pub raised: Vec<Warning>,
    /// Quotas as they are configured where they are above the limit: queue, column, quota; ascending.
    quotas_above_limit: Vec<(usize, usize, Bound)>,
    /// Every parent before its children.
    top_down: Vec<usize>,
    /// Children of queue `q`: `children[starts[q]..starts[q + 1]]`; of the roots: the last range.
    starts: Vec<usize>,
    children: Vec<usize>,
    by_name: HashMap<Arc<str>, usize>,
}

impl Tree {
    /// Checks the queues and lays them out. Slots are those that the capacity or any queue names.
    pub fn build(specs: Vec<QueueSpec>, capacity: &Amounts) -> Result<Self, Vec<TreeFault>> {
        let mut faults = Vec::new();
        let by_name = faults::index_names(&specs, &mut faults);
        let parents = faults::find_parents(&specs, &by_name, &mut faults);
        faults::check_figures(&specs, &mut faults);
        let slots = columns(&specs, capacity).unwrap_or_else(|| {
            let detail = format!("`capacity` and `queues` name more than {MAX_SLOTS} slots");
            faults.push(TreeFault { pointer: "/queues".to_owned(), code: "too_many_slots", detail });
            Vec::new()
        });
        if specs.len().saturating_mul(slots.len()) > MAX_CELLS {
            let detail = format!("`queues` are {} x {} slots, more than {MAX_CELLS}", specs.len(), slots.len());
            faults.push(TreeFault { pointer: "/queues".to_owned(), code: "too_many", detail });
        }
        let (starts, children) = child_lists(&parents);
        let top_down = order_top_down(&parents, &starts, &children);
        if faults.is_empty() && top_down.len() < specs.len() {
            faults::report_cycles(&specs, &parents, &top_down, &mut faults);
        }
        if !faults.is_empty() {
            faults.truncate(faults::MAX_FAULTS);
            return Err(faults);
        }
        Ok(Self::assemble(specs, capacity, slots, parents, (starts, children, top_down), by_name))
    }

    fn assemble(
        specs: Vec<QueueSpec>,
        capacity: &Amounts,
        slots: Vec<SlotName>,
        parents: Vec<Option<usize>>,
        (starts, children, top_down): (Vec<usize>, Vec<usize>, Vec<usize>),
        by_name: HashMap<Arc<str>, usize>,
    ) -> Self {
        let (rows, width) = (specs.len(), slots.len());
        let zeros = Grid::new(rows, width, Amount::ZERO);
        let mut tree = Self {
            capacity: slots.iter().map(|s| capacity.get(*s).unwrap_or_default()).collect(),
            queues: Vec::with_capacity(rows),
            quota: Grid::new(rows, width, Bound::Limited(Amount::ZERO)),
            limit: Grid::new(rows, width, Bound::Unlimited),
            guarantee: zeros.clone(),
            over_quota_weight: Grid::new(rows, width, Amount::whole(1)),
            request: zeros.clone(),
            allocated: zeros.clone(),
            allocated_non_preemptible: zeros.clone(),
            usage: zeros.clone(),
            next_request: zeros,
            raised: Vec::new(),
            quotas_above_limit: Vec::new(),
            slots,
            top_down,
            starts,
            children,
            by_name,
        };
        tree.fill(&specs);
        for (spec, parent) in specs.into_iter().zip(parents) {
            tree.queues.push(Queue {
                name: spec.name.into(),
                parent,
                priority: spec.priority,
                weight: spec.weight,
                mode: spec.mode,
                created_at: spec.created_at,
                children_over_quota_by: spec.children_over_quota_by,
                min_share_ratio: spec.min_share_ratio,
                reclaimable: spec.reclaimable,
                preempt_min_runtime: spec.preempt_min_runtime,
                reclaim_min_runtime: spec.reclaim_min_runtime,
                has_next: spec.next_request.is_some(),
            });
        }
        tree
    }

    fn fill(&mut self, specs: &[QueueSpec]) {
        for (at, spec) in specs.iter().enumerate() {
            for (column, slot) in self.slots.iter().enumerate() {
                let cell = (at, column);
                if let Some(quota) = spec.quota.get(*slot) {
                    self.quota[cell] = quota;
                }
                if let Some(limit) = spec.limit.get(*slot) {
                    self.limit[cell] = limit;
                }
                if self.limit[cell] < self.quota[cell] {
                    self.quotas_above_limit.push((at, column, self.quota[cell]));
                    self.quota[cell] = self.limit[cell];
                }
                if spec.over_quota_weight != OverQuotaWeight::default() {
                    self.over_quota_weight[cell] = spec.over_quota_weight.of(*slot);
                }
            }
        }
        set_given(&mut self.guarantee, &self.slots, specs.iter().map(|s| Some(&s.guarantee)));
        set_given(&mut self.usage, &self.slots, specs.iter().map(|s| Some(&s.usage)));
        set_given(&mut self.next_request, &self.slots, specs.iter().map(|s| s.next_request.as_ref()));
        self.observe(specs);
    }

    /// A parent's demand and allocation are the sums over its descendants, unless they are given. A request that is
    /// given stands, also below the allocation; one that is not is at least the allocation that is given.
    fn observe(&mut self, specs: &[QueueSpec]) {
        for at in (0..self.top_down.len()).rev() {
            let queue = self.top_down[at];
            let spec = &specs[queue];
            for (column, slot) in self.slots.iter().enumerate() {
                let cell = (queue, column);
                let given = |map: &Option<Amounts>| map.as_ref().and_then(|m| m.get(*slot));
                for (grid, map) in [
                    (&mut self.request, &spec.request),
                    (&mut self.allocated, &spec.allocated),
                    (&mut self.allocated_non_preemptible, &spec.allocated_non_preemptible),
                ] {
                    if let Some(amount) = given(map) {
                        grid[cell] = amount;
                    }
                }
                if self.request[cell] < self.allocated[cell] {
                    if given(&spec.request).is_some() {
                        self.raised.push(Warning::request_below_allocation(&spec.name, *slot));
                    } else if given(&spec.allocated).is_some() {
                        self.request[cell] = self.allocated[cell];
                    }
                }
            }
            if let Some(parent) = spec.parent.as_ref().and_then(|p| self.by_name.get(p.as_str())) {
                for grid in [&mut self.request, &mut self.allocated, &mut self.allocated_non_preemptible] {
                    let (from, to) = grid.from_to(queue, *parent);
                    for (sum, amount) in to.iter_mut().zip(from) {
                        *sum = sum.saturating_add(*amount);
                    }
                }
            }
        }
    }

    pub fn len(&self) -> usize {
        self.queues.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// By what the children of a queue share what is over their quotas; the roots as the options say.
    pub fn over_quota_by(&self, parent: Option<usize>, of_roots: OverQuotaBy) -> OverQuotaBy {
        parent.map_or(of_roots, |parent| self.queues[parent].children_over_quota_by)
    }

    /// The children of a queue, or the roots, in the order in which they were given.
    pub fn children(&self, of: Option<usize>) -> &[usize] {
        let at = of.unwrap_or(self.starts.len() - 2);
        &self.children[self.starts[at]..self.starts[at + 1]]
    }

    pub fn is_leaf(&self, queue: usize) -> bool {
        self.children(Some(queue)).is_empty()
    }

    /// Every queue, parents before children.
    pub fn top_down(&self) -> &[usize] {
        &self.top_down
    }

    /// The roots' level first (`None`), then every queue that has children, parents before children.
    pub fn levels(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        let inner = self.top_down.iter().copied().filter(|q| !self.is_leaf(*q));
        std::iter::once(None).chain(inner.map(Some))
    }

    /// The queue and its ancestors, upwards.
    pub fn ancestry(&self, queue: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(queue), |q| self.queues[*q].parent)
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub fn column(&self, slot: SlotName) -> Option<usize> {
        self.slots.iter().position(|s| *s == slot)
    }

    pub fn name(&self, queue: usize) -> &str {
        &self.queues[queue].name
    }

    /// The queue's quota of a slot as it is configured, where it is above the limit.
    pub fn quota_above_limit(&self, queue: usize, column: usize) -> Option<Bound> {
        let place = |(queue, column, _): &(usize, usize, Bound)| (*queue, *column);
        let at = self.quotas_above_limit.binary_search_by_key(&(queue, column), place).ok()?;
        Some(self.quotas_above_limit[at].2)
    }

    /// Older first, then by name: settles what rules leave open, whatever the order of the input.
    pub fn by_age(&self, a: usize, b: usize) -> Ordering {
        let (a, b) = (&self.queues[a], &self.queues[b]);
        a.created_at.cmp(&b.created_at).then_with(|| a.name.cmp(&b.name))
    }

    /// The most that a queue may get of a slot: its demand, cut by its limit.
    pub fn requestable(&self, queue: usize, column: usize) -> Amount {
        self.limit[(queue, column)].cut(self.request[(queue, column)])
    }

    /// A row of a grid as a map by slot.
    pub fn amounts(&self, row: &[Amount]) -> Amounts {
        self.slots.iter().copied().zip(row.iter().copied()).collect()
    }
}

/// All slots in name order; `None` when there are too many.
fn columns(specs: &[QueueSpec], capacity: &Amounts) -> Option<Vec<SlotName>> {
    let mut slots: Vec<SlotName> = capacity.iter().map(|(slot, _)| slot).collect();
    let mut add = |slot: SlotName| {
        if slots.len() <= MAX_SLOTS && !slots.contains(&slot) {
            slots.push(slot);
        }
    };
    for spec in specs {
        spec.quota.iter().for_each(|(slot, _)| add(slot));
        spec.limit.iter().for_each(|(slot, _)| add(slot));
        spec.guarantee.iter().for_each(|(slot, _)| add(slot));
        for map in [&spec.request, &spec.allocated, &spec.allocated_non_preemptible, &spec.next_request] {
            map.iter().flat_map(Amounts::iter).for_each(|(slot, _)| add(slot));
        }
    }
    slots.sort_unstable();
    (slots.len() <= MAX_SLOTS).then_some(slots)
}

fn child_lists(parents: &[Option<usize>]) -> (Vec<usize>, Vec<usize>) {
    let rows = parents.len();
    let mut starts = vec![0; rows + 2];
    for parent in parents {
        starts[parent.unwrap_or(rows) + 1] += 1;
    }
    for at in 0..=rows {
        starts[at + 1] += starts[at];
    }
    let (mut next, mut children) = (starts.clone(), vec![0; rows]);
    for (child, parent) in parents.iter().enumerate() {
        let at = &mut next[parent.unwrap_or(rows)];
        children[*at] = child;
        *at += 1;
    }
    (starts, children)
}

/// Breadth first from the roots; queues on or below a cycle are missing.
fn order_top_down(parents: &[Option<usize>], starts: &[usize], children: &[usize]) -> Vec<usize> {
    let rows = parents.len();
    let mut order = Vec::with_capacity(rows);
    order.extend_from_slice(&children[starts[rows]..starts[rows + 1]]);
    let mut at = 0;
    while at < order.len() {
        let queue = order[at];
        order.extend_from_slice(&children[starts[queue]..starts[queue + 1]]);
        at += 1;
    }
    order
}

fn set_given<'a>(grid: &mut Grid<Amount>, slots: &[SlotName], maps: impl Iterator<Item = Option<&'a Amounts>>) {
    for (at, map) in maps.enumerate() {
        for (slot, amount) in map.into_iter().flat_map(Amounts::iter) {
            if let Some(column) = slots.iter().position(|s| *s == slot) {
                grid[(at, column)] = amount;
            }
        }
    }
}
