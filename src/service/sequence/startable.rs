//! The order of the reported workloads that can ever start.

use std::sync::Arc;

use uuid::Uuid;

use super::pending::pending_workloads;
use super::{SequenceInput, Sequenced};
use crate::domain::time::Timestamp;
use crate::domain::workloads::{AssessedWorkloads, WorkloadMembers};
use crate::service::group::live_kernels::Kernels;
use crate::service::group::visible::VisibleGroup;
use crate::service::reported_workloads::assessed_workloads;
use crate::service::{Result, Service};

/// Orders the workloads of the kernels that wait and can ever start, as of `now`. Also returns all workloads.
pub(in crate::service) fn order_startable(
    service: &Service,
    group: &VisibleGroup,
    kernels: &Kernels,
    now: Timestamp,
    explain: bool,
) -> Result<(Arc<AssessedWorkloads>, Sequenced<'static>)> {
    let assessed = assessed_workloads(group.published(), kernels);
    let can_start =
        |(workload, impediment): &(&WorkloadMembers, Option<&_>)| impediment.is_none() && workload.counts().pending > 0;
    let workloads = pending_workloads(assessed.iter().filter(can_start).map(|(workload, _)| workload));
    let input = SequenceInput { workloads, explain, impediments: Some(Vec::new()), ..SequenceInput::default() };
    let sequenced = service.order_of(group.clone(), input, now)?;
    Ok((assessed, sequenced))
}

/// The place of the workload with the id, or with a kernel that has the id.
pub(in crate::service) fn find_workload(workloads: &[WorkloadMembers], id: &str) -> Option<usize> {
    let uuid: Option<Uuid> = id.parse().ok();
    // A session may be written in another form of its UUID.
    let session = uuid.map(|uuid| uuid.to_string());
    let has_id = |w: &WorkloadMembers| &*w.id == id || session.as_deref() == Some(&*w.id);
    let has_kernel = |w: &WorkloadMembers| w.members().iter().any(|member| Some(member.kernel.id) == uuid);
    workloads.iter().position(has_id).or_else(|| workloads.iter().position(has_kernel))
}
