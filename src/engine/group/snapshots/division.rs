//! The division of a snapshot: the amount that every queue deserves (DIVISION §2 to §4).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::snapshot_data::GroupSnapshotData;
use crate::domain::division::{DivisionReport, DivisionResult, DivisionTrace, DivisionWarning, QueueTree, live_tree};
use crate::domain::fault::Fault;
use crate::domain::queues::{Bound, QueueClaim};
use crate::domain::slots::{SlotAmounts, SlotMap};
use crate::domain::time::{Day, Timestamp};
use crate::store::division_days::DivisionDay;

/// The division of one snapshot.
#[derive(Debug)]
pub struct SnapshotDivision {
    pub calculated_at: Timestamp,
    pub algorithm: &'static str,
    pub tree: QueueTree,
    pub shares: DivisionResult,
    pub report: DivisionReport,
}

/// The figures of one queue, for all slots of the division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueFigures {
    pub parent: Option<Arc<str>>,
    pub quota: SlotMap<Bound>,
    pub limit: SlotMap<Bound>,
    pub request: SlotAmounts,
    pub allocated: SlotAmounts,
    pub allocated_non_preemptible: SlotAmounts,
    /// The usage that a history gain reads; `None` without usage or gain.
    pub usage: Option<SlotAmounts>,
}

impl SnapshotDivision {
    /// The figures of a queue by its index in the tree, which is its index in the report too.
    pub fn figures(&self, queue: usize) -> QueueFigures {
        let tree = &self.tree;
        let bounds = |row: &[Bound]| tree.slots.iter().copied().zip(row.iter().copied()).collect();
        QueueFigures {
            parent: tree.queues[queue].parent.map(|p| Arc::clone(&tree.queues[p].name)),
            quota: bounds(tree.quota.row(queue)),
            limit: bounds(tree.limit.row(queue)),
            request: tree.amounts(tree.request.row(queue)),
            allocated: tree.amounts(tree.allocated.row(queue)),
            allocated_non_preemptible: tree.amounts(tree.allocated_non_preemptible.row(queue)),
            usage: tree.usage.row(queue).iter().any(|u| !u.is_zero()).then(|| tree.amounts(tree.usage.row(queue))),
        }
    }

    /// The rows that the history of divisions stores for `day`.
    pub fn day_rows(&self, day: Day) -> Vec<DivisionDay> {
        let ratios = self.shares.ratios.as_deref();
        (0..self.tree.len())
            .map(|queue| {
                let figures = self.figures(queue);
                DivisionDay {
                    day,
                    queue: self.tree.name(queue).to_owned(),
                    algorithm: self.algorithm.to_owned(),
                    fair_share: self.tree.amounts(self.shares.fair_share.row(queue)),
                    allocated: figures.allocated,
                    request: figures.request,
                    quota: figures.quota,
                    ratios: ratios.map(|r| r[queue]),
                    calculated_at: self.calculated_at,
                }
            })
            .collect()
    }
}

impl GroupSnapshotData {
    /// Divides the group's capacity among its queues.
    pub fn divide(&self, now: Timestamp, mut trace: DivisionTrace) -> Result<SnapshotDivision, Vec<Fault>> {
        let choice = &self.options.division;
        let mut tree = live_tree(&self.queues, &self.capacity, &self.observed(&self.demand))?;
        tree.raised.extend(self.usage_elsewhere());
        let shares = choice.algorithm().divide(&tree, &choice.options, &mut trace);
        let report = DivisionReport::describe(&tree, &shares, (choice.algorithm(), &choice.options), trace);
        Ok(SnapshotDivision { calculated_at: now, algorithm: choice.algorithm().name(), tree, shares, report })
    }

    /// Warns of queues whose running kernels add their usage to another queue, because usage is recorded by project only.
    fn usage_elsewhere(&self) -> Vec<DivisionWarning> {
        if self.decayed_capacity.is_empty() {
            return Vec::new();
        }
        let other = |claim: &QueueClaim| {
            let queue = self.queue_of(claim.queue.as_deref(), claim.project);
            (queue != self.queue_of(None, claim.project)).then_some(queue)
        };
        let queues: BTreeSet<&str> = self
            .demand
            .iter()
            .filter(|(_, held)| held.allocated.iter().any(|(_, amount)| !amount.is_zero()))
            .filter_map(|(claim, _)| other(claim))
            .collect();
        let detail =
            "kernels of other queues' projects run here, and their usage counts there: it is recorded by project";
        queues.into_iter().map(|q| DivisionWarning::new("usage_elsewhere", Some(q), None, detail)).collect()
    }
}
