//! The pending kernels of a group, in the order in which a scheduler should start them now.

use std::borrow::Cow;

use super::{PendingWorkload, SequenceInput, Sequenced};
use crate::domain::ids::GroupKey;
use crate::domain::options::SequenceMode;
use crate::domain::slots::Amounts;
use crate::service::{Caller, Result, Service};
use crate::store::pending_kernels::PendingKernel;
use crate::store::{self, ConnectionTrait};

/// The largest number of pending kernels that are ordered. The kernels that have been known longest are taken.
const MAX_PENDING_KERNELS: u64 = 100_000;

fn workload_of_kernel(kernel: PendingKernel) -> PendingWorkload<'static> {
    PendingWorkload {
        workload_id: Cow::Owned(kernel.id.to_string()),
        user_uuid: Some(kernel.owner.user),
        user: None,
        project_id: Some(kernel.owner.project),
        project: None,
        submitted_at: None,
        priority: kernel.priority,
        queue: kernel.queue.map(Cow::Owned),
        requested_slots: Some(Box::new(kernel.slots)),
        expected_seconds: kernel.expected_seconds,
    }
}

/// The pending kernels of a group in order, with the request of each of `workloads`.
pub struct Pending {
    pub sequenced: Sequenced<'static>,
    pub requested: Vec<Amounts>,
}

/// The pending kernels of a group as workloads, the ones that have been known longest first.
pub(in crate::service) async fn pending_workloads(
    db: &impl ConnectionTrait,
    group: GroupKey,
) -> Result<Vec<PendingWorkload<'static>>> {
    let kernels = store::pending_kernels::first(db, group, MAX_PENDING_KERNELS).await?;
    Ok(kernels.into_iter().map(workload_of_kernel).collect())
}

impl Service {
    /// The pending kernels of the group in order, each with the reason why it waits. Keys of users see only the kernels
    /// of their own users.
    #[tracing::instrument(
        name = "service.sequence.pending_sequence",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn pending_sequence(&self, caller: &Caller, group: &str, mode: Option<SequenceMode>) -> Result<Pending> {
        let visible = self.group(caller, group)?;
        let workloads = pending_workloads(self.store().read(), visible.key).await?;
        let requested = workloads.iter().map(|w| w.requested_slots.as_deref().cloned().unwrap_or_default()).collect();
        let input = SequenceInput { workloads, mode, explain: true, ..SequenceInput::default() };
        let mut sequenced = self.order_of(visible, input, self.clock().now())?;
        // The kernels are not part of the request, so warnings about them have no place in it. Only callers that see
        // all kernels get them.
        sequenced.warnings.iter_mut().for_each(|warning| warning.pointer = None);
        if caller.only_user().is_some() {
            sequenced.warnings.clear();
        }
        Ok(Pending { sequenced, requested })
    }
}
