//! The order of the reported workloads that can ever start.

use std::sync::Arc;

use uuid::Uuid;

use super::pending::ReportedWorkloads;
use super::{SequenceInput, SequencedWorkloads};
use crate::domain::time::Timestamp;
use crate::domain::workloads::{AssessedWorkloads, WorkloadMembers};
use crate::service::group::visible::VisibleGroup;
use crate::service::{Result, Service};

/// Orders the workloads of the group that wait and can ever start, as of `now`.
pub(in crate::service) fn order_startable(
    service: &Service,
    group: &VisibleGroup,
    assessed: &AssessedWorkloads,
    now: Timestamp,
    explain: bool,
) -> Result<SequencedWorkloads<'static>> {
    let input = SequenceInput { explain, ..SequenceInput::default() };
    service.order_of(group.clone(), ReportedWorkloads::startable(assessed).fill(input), now)
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
