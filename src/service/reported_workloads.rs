//! The kernels of a snapshot that have not ended, and the impediments of the workloads that they form.

use std::sync::Arc;

use uuid::Uuid;

use super::{Caller, Result, Service};
use crate::domain::queues::DEFAULT_QUEUE;
use crate::domain::slots::SlotAmounts;
use crate::domain::workloads::{
    AgentTotals, AssessedWorkloads, StartDemand, StartImpediment, StartLimits, WorkloadMember, WorkloadMembers,
    WorkloadStatus, group_members,
};
use crate::engine::group::live_kernels::LiveKernelList;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::work::run_blocking;
use crate::store;
use crate::store::agents::StoredAgent;

/// An agent as it is when it is empty.
pub(in crate::service) fn agent_totals(agent: &StoredAgent) -> AgentTotals<'_> {
    AgentTotals::new(&agent.agent_id, &agent.labels, &agent.taints, &agent.available_slots)
}

/// The totals of the group that workloads are compared with.
pub(in crate::service) fn start_limits(facts: &GroupSnapshotData) -> StartLimits<'_> {
    StartLimits::new(facts.agents.iter().map(agent_totals).collect(), &facts.queues)
}

/// The workloads of a snapshot, which `kernels` form, and their impediments; found once.
pub(in crate::service) fn assessed_workloads(
    group: &GroupSnapshot,
    kernels: &LiveKernelList,
) -> Arc<AssessedWorkloads> {
    let assess = || {
        let member = |kernel| WorkloadMember { kernel: Arc::clone(kernel), ended_at: None };
        let workloads = group_members(kernels.iter().map(member)).into_iter().map(Arc::new).collect::<Vec<_>>();
        let impediments = find_impediments(&group.facts, &workloads);
        Arc::new(AssessedWorkloads { workloads, impediments })
    };
    Arc::clone(group.live.workloads.get_or_init(assess))
}

/// The impediment of each workload that can never start.
fn find_impediments(facts: &GroupSnapshotData, workloads: &[Arc<WorkloadMembers>]) -> Vec<Option<StartImpediment>> {
    let mut limits = start_limits(facts);
    let mut find = |workload| {
        let (members, needed) = WorkloadMembers::waiting_members(workload);
        if members.is_empty() {
            return None;
        }
        // The members above a minimum that runs start one by one, so that only their own demand counts.
        let is_below_minimum = workload.status() != WorkloadStatus::Running;
        let held = if is_below_minimum { workload.held_slots() } else { SlotAmounts::default() };
        limits.impediment(&StartDemand { members, needed, held, queue: queue_of(facts, workload) })
    };
    workloads.iter().map(|workload| find(workload)).collect()
}

/// The place of the workload with the id, or with a kernel that has the id.
pub(in crate::service) fn find_workload(workloads: &[Arc<WorkloadMembers>], id: &str) -> Option<usize> {
    let uuid: Option<Uuid> = id.parse().ok();
    // A session may be written in another form of its UUID.
    let session = uuid.map(|uuid| uuid.to_string());
    let has_id = |w: &Arc<WorkloadMembers>| &*w.id == id || session.as_deref() == Some(&*w.id);
    let has_kernel = |w: &Arc<WorkloadMembers>| w.members().iter().any(|member| Some(member.kernel.id) == uuid);
    workloads.iter().position(has_id).or_else(|| workloads.iter().position(has_kernel))
}

/// The queue that a workload counts for.
pub(in crate::service) fn queue_of<'f>(facts: &'f GroupSnapshotData, workload: &WorkloadMembers) -> &'f str {
    let kernel = workload.representative();
    kernel.map_or(DEFAULT_QUEUE, |kernel| facts.queue_of(kernel.queue.as_deref(), kernel.owner.project))
}

impl Service {
    /// The running, suspended and pending kernels of a snapshot, read once unless an earlier snapshot had them.
    pub(in crate::service) async fn live_kernels(&self, group: &GroupSnapshot) -> Result<LiveKernelList> {
        group.live.all_kernels.get_or_try_init(|| self.read_live_kernels(group)).await.map(Arc::clone)
    }

    /// The number of kernels of a group that have not ended.
    pub async fn count_live_kernels(&self, caller: &Caller, group: &str) -> Result<usize> {
        Ok(self.live_kernels(self.group(caller, group)?.published()).await?.len())
    }

    async fn read_live_kernels(&self, group: &GroupSnapshot) -> Result<LiveKernelList> {
        Ok(match &group.live.kernels {
            Some(known) => run_blocking(|| known.all()),
            None => store::live_kernels::load_live_kernels(self.store().read(), group.facts.key).await?.into(),
        })
    }
}
