//! Kinds of workloads: those of one kind ask for the same.

use std::sync::Arc;

use crate::decimal::Amount;
use crate::slots::SlotAmounts;

/// Members of a workload that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForecastMember {
    pub slots: SlotAmounts,
    pub count: u32,
    /// For each agent, true if it admits the member; `None`: all do.
    pub admitted: Option<Arc<[bool]>>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkloadKind {
    pub members: Vec<ForecastMember>,
    /// The number of members that must start together.
    pub minimum: u32,
    /// Its queue and those above, as indices in [`super::ForecastInput::queue_limits`].
    pub queues: Arc<[usize]>,
}

impl WorkloadKind {
    /// The slots of all members.
    pub(super) fn slots(&self) -> SlotAmounts {
        let mut sum = SlotAmounts::default();
        for ForecastMember { slots, count, .. } in &self.members {
            sum.add(&slots.map(|amount| Amount::from_units(amount.units().saturating_mul((*count).into()))));
        }
        sum
    }
}
