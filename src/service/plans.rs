//! Plans the evictions after which a pending workload can run now (DIVISION §6). Nothing is executed.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use super::access::ClientId;
use super::{Caller, Error, Fault, Result, Service};
use crate::domain::defaults::default_true;
use crate::domain::ids::ProjectId;
use crate::domain::queues::DEFAULT_QUEUE;
use crate::domain::reclaim::{PendingGang, PendingMember, ReclaimPlan};
use crate::domain::time::Timestamp;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::cluster::ClusterSnapshot;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::lookup;
use crate::service::visible_group::VisibleGroup;

/// The workload that wants to run.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "workload_id": "job-7", "queue": "vision", "members": [{"slots": {"cuda.device": 8}}, {"slots": {"cuda.device": 8}}], "gang_min": 2
}))]
pub struct PlanRequest {
    pub workload_id: String,
    /// Absent: the queue of the project, as for kernels; without a project `default`.
    pub queue: Option<String>,
    #[schema(value_type = Option<uuid::Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
    pub preemptible: bool,
    pub created_at: Option<Timestamp>,
    /// Absent: all members.
    pub gang_min: Option<u32>,
    pub members: Vec<PendingMember>,
}

/// A plan, with the group that it is for.
#[derive(Clone, Debug)]
pub struct PlannedReclaim {
    pub group: VisibleGroup,
    pub plan: ReclaimPlan,
}

impl Service {
    /// Plans for one workload against the live state. If kernels of the workload are already pending, their demand is
    /// not counted twice.
    #[tracing::instrument(
        name = "service.plans.plan_reclaim",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn plan_reclaim(&self, caller: &Caller, group: &str, request: PlanRequest) -> Result<PlannedReclaim> {
        caller.require_scheduler()?;
        let group = self.group(caller, group)?;
        let project = lookup::some_project(&self.people(), request.project_id, request.project.as_deref());
        let pending = pending_gang(group.facts(), request, project.map_err(|fault| Error::Invalid(vec![fault]))?)?;
        let read = || self.cluster_of(group.published(), caller.client());
        let cluster = group.published().live.cluster.get_or_try_init(read).await.map(Arc::clone)?;
        let now = self.clock().now();
        let work = || cluster.plan(group.facts(), &pending, now).map_err(faults);
        let plan = self.permits.run(caller.client(), work).await?;
        Ok(PlannedReclaim { group, plan })
    }

    /// The cluster of a snapshot, from its kernels.
    async fn cluster_of(&self, group: &Arc<GroupSnapshot>, client: ClientId) -> Result<Arc<ClusterSnapshot>> {
        let kernels = self.live_kernels(group).await?;
        self.permits.run(client, || Ok(Arc::new(ClusterSnapshot::of(&group.facts, &kernels)?))).await
    }
}

/// The workload in its queue. A queue that is named must exist.
fn pending_gang(facts: &GroupSnapshotData, request: PlanRequest, project: Option<ProjectId>) -> Result<PendingGang> {
    let queue: Arc<str> = match (&request.queue, project) {
        (Some(name), _) if facts.has_queue(name) => Arc::from(name.as_str()),
        (Some(name), _) => {
            return Err(Error::invalid("/queue", "unknown_queue", format!("there is no queue {name:?}")));
        }
        (None, Some(project)) => Arc::from(facts.queue_of(None, project)),
        (None, None) => Arc::from(DEFAULT_QUEUE),
    };
    let PlanRequest { workload_id, priority, preemptible, created_at, gang_min, members, .. } = request;
    Ok(PendingGang { workload_id: Arc::from(workload_id), queue, priority, preemptible, created_at, gang_min, members })
}

/// Converts pointers of faults: the request is the pending workload itself.
fn faults(faults: Vec<Fault>) -> Error {
    let shown = faults.into_iter().map(|f| {
        let pointer = f.pointer.strip_prefix("/pending").unwrap_or(&f.pointer).to_owned();
        Fault::new(pointer, f.code, f.detail)
    });
    Error::Invalid(shown.collect())
}
