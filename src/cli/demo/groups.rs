//! The resource groups of the demo, and their events: kernels, and nodes that are down.

use super::people::{CPU_FARM, GPU_CLUSTER, INFERENCE, KernelNeed};

/// A resource group of equal nodes.
#[derive(Clone, Copy, Debug)]
pub struct GroupPlan {
    pub name: &'static str,
    pub scheduler: &'static str,
    pub nodes: usize,
    pub node: KernelNeed,
}

pub const GROUPS: [GroupPlan; 3] = [
    GroupPlan { name: GPU_CLUSTER, scheduler: "fairshare", nodes: 12, node: KernelNeed::new(64, 512, 8) },
    GroupPlan { name: CPU_FARM, scheduler: "drf", nodes: 16, node: KernelNeed::new(64, 256, 0) },
    GroupPlan { name: INFERENCE, scheduler: "fairshare", nodes: 3, node: KernelNeed::new(32, 128, 4) },
];

/// A kernel of the demo. Times are Unix seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoKernel {
    pub group: &'static str,
    /// The index in [`PEOPLE`].
    pub person: usize,
    /// The number of the job in the whole demo. Repeated runs of a job share it.
    pub job: usize,
    pub attempt: u32,
    /// The number of this part of the job, and the number of all parts. Parts start and end together.
    pub member: u32,
    pub members: u32,
    pub need: KernelNeed,
    /// The node and the start; `None` if the kernel is pending.
    pub placed: Option<(usize, i64)>,
    pub ended_at: Option<i64>,
}

/// A time in which a node was down; `until` may be in the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeOutage {
    pub group: &'static str,
    pub node: usize,
    pub from: i64,
    pub until: i64,
}
