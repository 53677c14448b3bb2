//! The queue tree of one resource group (DIVISION §1). Queues are indices, and nothing here or below recurses, so
//! neither a chain of queues nor a wide level can exhaust the stack.

pub mod faults;
pub mod grid;
pub mod heaps;
pub mod sums;
pub mod warning;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::decimal::Amount;
use crate::fault::{Fault, MAX_FAULTS};
use crate::letters::first_letters;
use crate::queues::{Bound, OverQuotaBy, OverQuotaWeight, QueueConfig, QueueSpec};
use crate::slots::{MAX_SLOTS, SlotAmounts, SlotName};
use crate::time::Timestamp;
use grid::QueueSlotGrid;
use warning::DivisionWarning;

/// The largest number of cells (queues x slots) of one tree. It bounds the memory of a request and is above any real
/// cluster.
const MAX_CELLS: usize = 1_000_000;

/// The values of a queue that do not depend on a slot. Figures that loops over all queues read are copied from the
/// configuration into the tree, because the configurations are scattered over the memory.
#[derive(Clone, Debug)]
pub struct TreeQueue {
    pub name: Arc<str>,
    /// The first letters of the name as a number. They distinguish nearly all names without a look at the name itself.
    letters: u128,
    pub parent: Option<usize>,
    pub priority: i32,
    pub weight: Amount,
    pub min_share_ratio: Amount,
    pub created_at: Option<Timestamp>,
    pub config: Arc<QueueConfig>,
    /// True if `next_request` is known.
    pub has_next: bool,
}

impl Deref for TreeQueue {
    type Target = QueueConfig;
    fn deref(&self) -> &QueueConfig {
        &self.config
    }
}

/// All queues by index, in the order in which they were given, with their values by (queue, column of [`QueueTree::slots`]).
#[derive(Clone, Debug)]
pub struct QueueTree {
    pub slots: Vec<SlotName>,
    /// The amounts that the roots divide, by column.
    pub capacity: Vec<Amount>,
    pub queues: Vec<TreeQueue>,
    /// The quota; one above the limit is replaced by the limit.
    pub quota: QueueSlotGrid<Bound>,
    pub limit: QueueSlotGrid<Bound>,
    pub guarantee: QueueSlotGrid<Amount>,
    pub over_quota_weight: QueueSlotGrid<Amount>,
    pub request: QueueSlotGrid<Amount>,
    pub allocated: QueueSlotGrid<Amount>,
    pub allocated_non_preemptible: QueueSlotGrid<Amount>,
    pub usage: QueueSlotGrid<Amount>,
    pub next_request: QueueSlotGrid<Amount>,
    /// Warnings that arose while the tree was built. The linter adds others.
    pub raised: Vec<DivisionWarning>,
    /// The configured quotas that are above the limit, as (queue, column, quota), ascending.
    quotas_above_limit: Vec<(usize, usize, Bound)>,
    /// All queues, every parent before its children.
    top_down: Vec<usize>,
    /// The children of queue `q` are `children[starts[q]..starts[q + 1]]`. The last range has the roots.
    starts: Vec<usize>,
    children: Vec<usize>,
    by_name: HashMap<Arc<str>, usize>,
}

impl QueueTree {
    /// Checks the queues and builds the tree with their own figures and the sums over descendants. The slots are those
    /// that the capacity or any queue names.
    pub fn build(specs: &[QueueSpec], capacity: &SlotAmounts) -> Result<Self, Vec<Fault>> {
        let mut tree = Self::lay_out(specs, capacity)?;
        sums::add_up(&mut tree, specs);
        Ok(tree)
    }

    /// Builds a tree without the sums: no queue holds or asks for anything yet.
    pub(crate) fn lay_out(specs: &[QueueSpec], capacity: &SlotAmounts) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let by_name = faults::index_names(specs, &mut faults);
        let parents = faults::find_parents(specs, &by_name, &mut faults);
        faults::check_figures(specs, &mut faults);
        let slots = columns(specs, capacity).unwrap_or_else(|| {
            let detail = format!("`capacity` and `queues` name more than {MAX_SLOTS} slots");
            faults.push(Fault::new("/queues", "too_many_slots", detail));
            Vec::new()
        });
        if specs.len().saturating_mul(slots.len()) > MAX_CELLS {
            let detail = format!("`queues` are {} x {} slots, more than {MAX_CELLS}", specs.len(), slots.len());
            faults.push(Fault::new("/queues", "too_many", detail));
        }
        let (starts, children) = child_lists(&parents);
        let top_down = order_top_down(&parents, &starts, &children);
        if faults.is_empty() && top_down.len() < specs.len() {
            faults::report_cycles(specs, &parents, &top_down, &mut faults);
        }
        if !faults.is_empty() {
            faults.truncate(MAX_FAULTS);
            return Err(faults);
        }
        Ok(Self::assemble(specs, capacity, slots, &parents, (starts, children, top_down), by_name))
    }

    fn assemble(
        specs: &[QueueSpec],
        capacity: &SlotAmounts,
        slots: Vec<SlotName>,
        parents: &[Option<usize>],
        (starts, children, top_down): (Vec<usize>, Vec<usize>, Vec<usize>),
        by_name: HashMap<Arc<str>, usize>,
    ) -> Self {
        let (rows, width) = (specs.len(), slots.len());
        let zeros = QueueSlotGrid::new(rows, width, Amount::ZERO);
        let mut queues: Vec<TreeQueue> = specs
            .iter()
            .zip(parents)
            .map(|(spec, parent)| TreeQueue {
                name: Arc::default(),
                letters: 0,
                parent: *parent,
                priority: spec.config.priority,
                weight: spec.config.weight,
                min_share_ratio: spec.config.min_share_ratio,
                created_at: spec.config.created_at,
                config: Arc::clone(&spec.config),
                has_next: spec.given.next_request.is_some(),
            })
            .collect();
        for (name, queue) in &by_name {
            queues[*queue].name = Arc::clone(name);
            queues[*queue].letters = first_letters(name.as_bytes());
        }
        let mut tree = Self {
            capacity: slots.iter().map(|s| capacity.get(*s).unwrap_or_default()).collect(),
            queues,
            quota: QueueSlotGrid::new(rows, width, Bound::Limited(Amount::ZERO)),
            limit: QueueSlotGrid::new(rows, width, Bound::Unlimited),
            guarantee: zeros.clone(),
            over_quota_weight: QueueSlotGrid::new(rows, width, Amount::whole(1)),
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
        tree.fill(specs);
        tree
    }

    fn fill(&mut self, specs: &[QueueSpec]) {
        for (at, QueueSpec { config, given }) in specs.iter().enumerate() {
            for (column, slot) in self.slots.iter().enumerate() {
                let cell = (at, column);
                if let Some(quota) = config.quota.get(*slot) {
                    self.quota[cell] = quota;
                }
                if let Some(limit) = config.limit.get(*slot) {
                    self.limit[cell] = limit;
                }
                if self.limit[cell] < self.quota[cell] {
                    self.quotas_above_limit.push((at, column, self.quota[cell]));
                    self.quota[cell] = self.limit[cell];
                }
                if config.over_quota_weight != OverQuotaWeight::default() {
                    self.over_quota_weight[cell] = config.over_quota_weight.of(*slot);
                }
            }
            self.guarantee.set(at, &self.slots, &config.guarantee);
            self.usage.set(at, &self.slots, &given.usage);
            if let Some(next) = &given.next_request {
                self.next_request.set(at, &self.slots, next);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.queues.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The key by which the children of a queue share over-quota capacity. `of_roots` is the one of the roots.
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

    /// All queues, parents before children.
    pub fn top_down(&self) -> &[usize] {
        &self.top_down
    }

    /// All levels: that of the roots (`None`) first, then every queue that has children, parents before children.
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

    /// The configured quota of the queue on a slot, if it is above the limit.
    pub fn quota_above_limit(&self, queue: usize, column: usize) -> Option<Bound> {
        let place = |(queue, column, _): &(usize, usize, Bound)| (*queue, *column);
        let at = self.quotas_above_limit.binary_search_by_key(&(queue, column), place).ok()?;
        Some(self.quotas_above_limit[at].2)
    }

    /// Compares by age, older first, then by name. It decides where the rules leave a choice, so that results do not
    /// depend on the order of the input.
    pub fn by_age(&self, a: usize, b: usize) -> Ordering {
        let (a, b) = (&self.queues[a], &self.queues[b]);
        a.created_at.cmp(&b.created_at).then(a.letters.cmp(&b.letters)).then_with(|| a.name.cmp(&b.name))
    }

    /// The most that a queue may get of a slot: its request, cut by its limit.
    pub fn requestable(&self, queue: usize, column: usize) -> Amount {
        self.limit[(queue, column)].cut(self.request[(queue, column)])
    }

    /// Converts a row of a grid to a map by slot.
    pub fn amounts(&self, row: &[Amount]) -> SlotAmounts {
        self.slots.iter().copied().zip(row.iter().copied()).collect()
    }
}

/// All slots in name order; `None` if there are too many.
fn columns(specs: &[QueueSpec], capacity: &SlotAmounts) -> Option<Vec<SlotName>> {
    let mut slots: Vec<SlotName> = capacity.iter().map(|(slot, _)| slot).collect();
    let mut add = |slot: SlotName| {
        if slots.len() <= MAX_SLOTS && !slots.contains(&slot) {
            slots.push(slot);
        }
    };
    for QueueSpec { config, given } in specs {
        config.quota.iter().for_each(|(slot, _)| add(slot));
        config.limit.iter().for_each(|(slot, _)| add(slot));
        config.guarantee.iter().for_each(|(slot, _)| add(slot));
        for map in [&given.request, &given.allocated, &given.allocated_non_preemptible, &given.next_request] {
            map.iter().flat_map(SlotAmounts::iter).for_each(|(slot, _)| add(slot));
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

/// The queues breadth first from the roots. Queues on or below a cycle are missing.
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
