//! The amounts that queues and workloads hold while victims are taken and given back.

use std::ops::Range;

use super::snapshot::{EvictionUnit, ReclaimSnapshot};
use crate::decimal::Amount;
use crate::division::{QueueAllocation, QueueSlotGrid};
use crate::maps::FastMap;

pub struct QueueHoldings<'a> {
    pub snapshot: &'a ReclaimSnapshot<'a>,
    /// The request of the pending workload, by column.
    pub request: Vec<Amount>,
    pub allocated: QueueSlotGrid<Amount>,
    /// The amounts that victims took away. They are kept apart from `allocated`, because a given allocation may be
    /// smaller than the sum of the running workloads.
    removed: QueueSlotGrid<u128>,
    /// The number of kernels that victims have lost, by workload. Few workloads of many are victims.
    lost_kernels: FastMap<usize, usize>,
    /// The units that are evicted, by queue; each as the range of its members.
    gone: FastMap<usize, Vec<Range<usize>>>,
    /// The amounts of units that plans before this one evicted, with their queues.
    gone_before: Vec<(usize, Vec<Amount>)>,
}

impl<'a> QueueHoldings<'a> {
    pub fn new(snapshot: &'a ReclaimSnapshot<'a>, request: Vec<Amount>) -> Self {
        Self {
            snapshot,
            request,
            allocated: snapshot.tree.allocated.clone(),
            removed: QueueSlotGrid::new(snapshot.tree.len(), snapshot.width(), 0),
            lost_kernels: FastMap::default(),
            gone: FastMap::default(),
            gone_before: Vec::new(),
        }
    }

    /// Notes a unit that an earlier plan evicted from the queue. The allocation lacks it already.
    pub fn note_gone(&mut self, queue: usize, amounts: Vec<Amount>) {
        self.gone_before.push((queue, amounts));
    }

    pub fn take(&mut self, unit: &EvictionUnit) {
        *self.lost_kernels.entry(unit.job).or_default() += self.snapshot.count_kernels(unit.members.clone());
        self.gone.entry(unit.queue).or_default().push(unit.members.clone());
        self.change(unit, u128::saturating_add);
    }

    pub fn give_back(&mut self, unit: &EvictionUnit) {
        *self.lost_kernels.entry(unit.job).or_default() -= self.snapshot.count_kernels(unit.members.clone());
        let gone = self.gone.entry(unit.queue).or_default();
        if let Some(at) = gone.iter().rposition(|members| *members == unit.members) {
            gone.swap_remove(at);
        }
        self.change(unit, u128::saturating_sub);
    }

    fn change(&mut self, unit: &EvictionUnit, apply: impl Fn(u128, u128) -> u128) {
        let snapshot = self.snapshot;
        for queue in snapshot.tree.ancestry(unit.queue) {
            for member in unit.members.clone() {
                for (column, units) in snapshot.cells(member).iter().copied() {
                    let cell = (queue, column);
                    self.removed[cell] = apply(self.removed[cell], units);
                    let held = snapshot.tree.allocated[cell].units().saturating_sub(self.removed[cell]);
                    self.allocated[cell] = Amount::from_units(held);
                }
            }
        }
    }

    /// The number of kernels of the workload that run.
    pub fn running(&self, job: usize) -> usize {
        self.snapshot.jobs[job].kernels - self.lost_kernels.get(&job).copied().unwrap_or_default()
    }

    pub fn lost(&self, queue: usize, column: usize) -> bool {
        self.removed[(queue, column)] > 0
    }

    /// The amounts that each unit that is evicted from a queue held, by column.
    pub fn gone(&self, queue: usize) -> impl Iterator<Item = Vec<Amount>> + '_ {
        let before =
            self.gone_before.iter().filter(move |(from, _)| *from == queue).map(|(_, amounts)| amounts.clone());
        let gone = self.gone.get(&queue).into_iter().flatten();
        gone.map(|members| self.snapshot.held(members.clone())).chain(before)
    }

    pub fn position(&self, queue: usize) -> QueueAllocation<'_> {
        self.snapshot.position(queue, &self.allocated)
    }

    /// The amount that a queue on the reclaimer's path will hold with the request.
    pub fn with_request(&self, queue: usize, column: usize) -> Amount {
        self.allocated[(queue, column)].saturating_add(self.request[column])
    }

    /// The columns of the slots that the request asks for.
    pub fn asked(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.request.len()).filter(|column| !self.request[*column].is_zero())
    }
}
