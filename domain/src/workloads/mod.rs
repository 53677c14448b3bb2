//! Workloads: the kernels of a gang, or of a session where there is no gang, seen as one thing.
//!
//! Schedulers report kernels. Users ask about workloads: how long one waits, how much of it runs, and whether it can start
//! at all. A workload is not stored. It follows from its kernels whenever it is asked for, so that no report has to keep it up to
//! date.
//!
//! - `members` puts kernels together and says what follows from them: counts, the status with the times of its changes,
//!   and the time since which the workload waits.
//! - `impediment` finds workloads that can never start, because they ask for more than the group, each agent or their
//!   queue ever has, or because no agent admits them. That needs neither an order nor a cycle.
//! - `occupancy` sums what is held by domain, project, user, queue or agent.
//!
//! A workload that has a running member and lacks others is `starting` until its minimum runs. The minimum is `gang_min`,
//! otherwise all members that have not ended.

mod impediment;
mod members;
pub mod occupancy;

use std::sync::Arc;

pub use impediment::{AgentTotals, ImpedimentScope, MemberDemand, StartDemand, StartImpediment, StartLimits};
pub use members::{MemberCounts, StatusChange, WorkloadMember, WorkloadMembers, WorkloadStatus, group_members};

/// The workloads of a group by id, and the impediment of each that can never start.
#[derive(Clone, Debug, Default)]
pub struct AssessedWorkloads {
    pub workloads: Vec<Arc<WorkloadMembers>>,
    /// One for each workload.
    pub impediments: Vec<Option<StartImpediment>>,
}

impl AssessedWorkloads {
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<WorkloadMembers>, Option<&StartImpediment>)> {
        self.workloads.iter().zip(self.impediments.iter().map(Option::as_ref))
    }
}
