//! The pending kernels of a group, in the order in which a scheduler should start them now.

use std::borrow::Cow;

use super::{PendingWorkload, SequenceInput, Sequenced};
use crate::domain::ids::GroupKey;
use crate::domain::options::SequenceMode;
use crate::domain::slots::Amounts;
use crate::service::{Caller, Result, Service};
use crate::store::pending_kernels::PendingKernel;
use crate::store::{self, ConnectionTrait};

/// How many pending kernels are put in order: those that have been known the longest.
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

/// The pending kernels of a group in order, with what each of `workloads` asks for.
pub struct Pending {
    pub sequenced: Sequenced<'static>,
    pub requested: Vec<Amounts>,
}

/// The kernels of a group that wait, those that have been known the longest first, as workloads.
pub(in crate::service) async fn pending_workloads(
    db: &impl ConnectionTrait,
    group: GroupKey,
) -> Result<Vec<PendingWorkload<'static>>> {
    let kernels = store::pending_kernels::first(db, group, MAX_PENDING_KERNELS).await?;
    Ok(kernels.into_iter().map(workload_of_kernel).collect())
}

impl Service {
    /// The pending kernels of the group, in order, each with why it waits. Keys of users are shown their own users' ones.
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
        // The kernels are not in the request: warnings about them have no place in it, and are for callers who see all of them.
        sequenced.warnings.iter_mut().for_each(|warning| warning.pointer = None);
        if caller.only_user().is_some() {
            sequenced.warnings.clear();
        }
        Ok(Pending { sequenced, requested })
    }
}
