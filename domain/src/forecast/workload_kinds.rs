//! Kinds of workloads: those of one kind ask for the same.

use std::sync::Arc;

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
    /// The slots of all members.
    pub slots: SlotAmounts,
    pub members: Vec<ForecastMember>,
    /// The number of members that must start together.
    pub minimum: u32,
    /// Its queue and those above, as indices in [`super::ForecastInput::queues`].
    pub queues: Arc<[usize]>,
}
