//! The candidates one by one, in the order in which they lose (DIVISION §6.4): the reverse of the queue order, updated
//! whenever a queue would have lost something. Heaps hold the siblings, because only the queue that just lost and its
//! ancestors can change their positions.

use std::cmp::Ordering;

use super::candidates::EvictionExtent;
use crate::division::report::order::{QueueOrderKey, key};
use crate::division::tree::heaps::SiblingHeaps;
use crate::reclaim::budget::{BudgetExhausted, SearchBudget};
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::policy::EvictionPolicy;
use crate::reclaim::snapshot::{EvictionUnit, ReclaimSnapshot};

pub struct LosingOrder<'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    policy: &'a dyn EvictionPolicy,
    extents: &'a [EvictionExtent],
    /// The amounts that queues would hold if all units that were returned so far had been evicted.
    holdings: QueueHoldings<'a>,
    keys: Vec<Option<QueueOrderKey>>,
    /// The children that still have candidates; the child that loses first is at the top.
    heaps: SiblingHeaps,
    /// By queue: its own candidates, the next one last; computed when the queue is first reached.
    units: Vec<Option<Vec<EvictionUnit>>>,
    /// By queue: the number of candidates in it and below it.
    left: Vec<usize>,
    own: Vec<usize>,
}

impl<'a> LosingOrder<'a> {
    pub fn new(
        snapshot: &'a ReclaimSnapshot<'a>,
        policy: &'a dyn EvictionPolicy,
        extents: &'a [EvictionExtent],
    ) -> Self {
        let rows = snapshot.tree.len();
        let mut order = Self {
            snapshot,
            policy,
            extents,
            holdings: QueueHoldings::new(snapshot, Vec::new()),
            keys: vec![None; rows],
            heaps: SiblingHeaps::new(rows),
            units: vec![None; rows],
            left: vec![0; rows],
            own: vec![0; rows],
        };
        for (job, extent) in extents.iter().enumerate() {
            let known = &snapshot.jobs[job];
            let core = extent.core(policy, known);
            let surplus = snapshot.count_kernels(known.members.start + core..known.members.end);
            let units = match extent {
                EvictionExtent::Nothing => 0,
                EvictionExtent::Surplus => surplus,
                EvictionExtent::All => surplus + usize::from(core > 0),
            };
            order.own[known.queue] += units;
        }
        order.fill_heaps();
        order
    }

    fn fill_heaps(&mut self) {
        let tree = self.snapshot.tree;
        // The children with candidates by parent; the roots are last.
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); tree.len() + 1];
        for queue in tree.top_down().iter().rev().copied() {
            self.left[queue] += self.own[queue];
            if self.left[queue] == 0 {
                continue;
            }
            self.keys[queue] = Some(key(&self.holdings.position(queue), &[], &[]));
            if let Some(parent) = tree.queues[queue].parent {
                self.left[parent] += self.left[queue];
            }
            waiting[tree.queues[queue].parent.unwrap_or(tree.len())].push(queue);
        }
        let Self { heaps, keys, holdings, policy, .. } = self;
        for (parent, children) in waiting.into_iter().enumerate() {
            let parent = (parent < tree.len()).then_some(parent);
            heaps.fill(parent, children, |a, b| loses_before(*policy, holdings, keys, a, b));
        }
    }

    /// The next candidate.
    pub fn next(&mut self, budget: &mut SearchBudget) -> Result<Option<EvictionUnit>, BudgetExhausted> {
        let tree = self.snapshot.tree;
        let Some(mut queue) = self.heaps.first(None) else { return Ok(None) };
        while self.own[queue] == 0 {
            let Some(below) = self.heaps.first(Some(queue)) else { return Ok(None) };
            queue = below;
        }
        let Some(unit) = self.next_of(queue) else { return Ok(None) };
        budget.pay(self.snapshot.weight(&unit))?;
        self.own[queue] -= 1;
        self.holdings.take(&unit);
        let Self { heaps, keys, holdings, policy, left, .. } = self;
        for at in tree.ancestry(queue) {
            let parent = tree.queues[at].parent;
            left[at] -= 1;
            if left[at] == 0 {
                heaps.remove_first(parent, |a, b| loses_before(*policy, holdings, keys, a, b));
            } else {
                keys[at] = Some(key(&holdings.position(at), &[], &[]));
                heaps.move_first(parent, |a, b| loses_before(*policy, holdings, keys, a, b));
            }
        }
        Ok(Some(unit))
    }

    fn next_of(&mut self, queue: usize) -> Option<EvictionUnit> {
        if self.units[queue].is_none() {
            let mut units = self.units_of(queue);
            units.reverse();
            self.units[queue] = Some(units);
        }
        self.units[queue].as_mut()?.pop()
    }

    /// The units of a queue in the order in which they lose: first surplus members of every workload, then the cores of
    /// gangs. Both are in the reverse of the workload order; of equal members the last listed one comes first.
    fn units_of(&self, queue: usize) -> Vec<EvictionUnit> {
        let mut jobs: Vec<usize> = self
            .snapshot
            .jobs_of(queue)
            .iter()
            .copied()
            .filter(|j| self.extents[*j] != EvictionExtent::Nothing)
            .collect();
        jobs.sort_by(|a, b| self.policy.compare_jobs(self.snapshot, *b, *a).then_with(|| b.cmp(a)));
        let mut units = Vec::with_capacity(jobs.len());
        for job in jobs.iter().copied() {
            let known = &self.snapshot.jobs[job];
            let core = self.extents[job].core(self.policy, known);
            let surplus = self.snapshot.kernels_in(known.members.start + core..known.members.end).rev();
            units.extend(surplus.map(|members| EvictionUnit { job, queue, members, is_core: false }));
        }
        for job in jobs.into_iter().filter(|j| self.extents[*j] == EvictionExtent::All) {
            let known = &self.snapshot.jobs[job];
            let core = EvictionExtent::All.core(self.policy, known);
            if core > 0 {
                let members = known.members.start..known.members.start + core;
                units.push(EvictionUnit { job, queue, members, is_core: true });
            }
        }
        units
    }
}

/// True if queue `a` loses before its sibling `b`.
fn loses_before(
    policy: &dyn EvictionPolicy,
    holdings: &QueueHoldings,
    keys: &[Option<QueueOrderKey>],
    a: usize,
    b: usize,
) -> bool {
    let (Some(key_a), Some(key_b)) = (&keys[a], &keys[b]) else { return false };
    let (at, bt) = (holdings.position(a), holdings.position(b));
    policy.compare_queues((&at, key_a), (&bt, key_b)) == Ordering::Greater
}
