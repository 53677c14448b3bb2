//! The interface between a sequencer with a progressive order and its callers.

use super::accounts::{DomainByProject, GroupUsage};
use crate::ids::Member;
use crate::sequencer::{OrderDecision, SequenceWorkload, ShareLookup};
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// The state of a group, as far as progressive orders read it.
pub trait ProgressiveGroup: GroupUsage + ShareLookup + Sync {}

impl<T: GroupUsage + ShareLookup + Sync> ProgressiveGroup for T {}

/// The slots of a workload, and the time for which it will hold them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceRequest<'a> {
    pub slots: Option<&'a SlotAmounts>,
    /// The announced runtime in seconds.
    pub seconds: Option<u32>,
}

/// The input of a progressive order, and the wanted parts of its result.
pub struct ProgressiveInput<'a> {
    pub group: &'a dyn ProgressiveGroup,
    pub workloads: &'a [SequenceWorkload<'a>],
    /// The request of each workload.
    pub requests: &'a [ResourceRequest<'a>],
    /// Workloads that have started but are not among the kernels yet.
    pub placed: &'a [(Member, ResourceRequest<'a>)],
    /// The domains of projects that the group does not have yet.
    pub domains: &'a DomainByProject,
    pub now: Timestamp,
    /// The number of workloads that the result contains at most.
    pub most: usize,
    /// True if the result contains the reasons.
    pub explain: bool,
}

/// The effect of placing a workload on its user.
#[derive(Clone, Copy, Debug)]
pub struct PlacementCharge {
    /// A part of the capacity of the look-back window, in the same scale as normalised usage.
    pub charge: f64,
    pub factor_after: f64,
}

/// A progressive order.
#[derive(Debug, Default)]
pub struct ProgressiveOrder {
    /// Positions in the workloads; the first one starts first.
    pub order: Vec<u32>,
    /// For each of `order`; empty if nothing is charged.
    pub charged: Vec<PlacementCharge>,
    /// The reason for each of `order` why it does not come before its predecessor; empty unless requested.
    pub decisions: Vec<OrderDecision>,
}

/// The progressive form of a sequencer.
pub trait ProgressiveSequence: Sync {
    /// True if the order compares usage, so that what kernels have used and will use counts.
    fn compares_usage(&self) -> bool;

    fn order(&self, input: &ProgressiveInput) -> ProgressiveOrder;
}
