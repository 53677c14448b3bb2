//! The reported workloads of a group that wait, in the order in which a scheduler should start them now.

use std::borrow::Cow;

use super::{SequenceInput, SequencedWorkloads};
use crate::api::sequence::PendingWorkload;
use crate::domain::ids::Member;
use crate::domain::options::SequenceMode;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::domain::workloads::{AssessedWorkloads, StartImpediment, WorkloadMembers};
pub use crate::engine::group::live_kernels::LiveKernelList;
use crate::service::reported_workloads::assessed_workloads;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Caller, Result, Service};

/// The members that wait as one workload; `None` if there are none.
fn pending_workload(workload: &WorkloadMembers) -> Option<PendingWorkload<'static>> {
    let kernel = workload.representative()?;
    Some(PendingWorkload {
        submitted_at: workload.submitted_at(),
        priority: workload.priority(),
        queue: kernel.queue.clone().map(Cow::Owned),
        requested_slots: Some(Box::new(workload.waiting_slots())),
        expected_seconds: workload.expected_seconds(),
        ..PendingWorkload::of_owner(Cow::Owned(workload.id.to_string()), kernel.owner)
    })
}

/// Workloads as a sequence takes them, the ones that have been known longest first, each with its impediment.
fn pending_rows<'w>(
    workloads: impl Iterator<Item = (&'w WorkloadMembers, Option<&'w StartImpediment>)>,
) -> ReportedWorkloads {
    let mut ordered: Vec<_> = workloads.collect();
    ordered.sort_by_key(|(workload, _)| workload.known_order());
    let row = |(workload, impediment): (_, Option<&StartImpediment>)| {
        Some((pending_workload(workload)?, impediment.cloned()))
    };
    let (workloads, impediments) = ordered.into_iter().filter_map(row).unzip();
    ReportedWorkloads { workloads, impediments }
}

/// The reported workloads that wait.
pub struct ReportedWorkloads {
    workloads: Vec<PendingWorkload<'static>>,
    /// The impediment of each of them that can never start.
    impediments: Vec<Option<StartImpediment>>,
}

/// The reported workloads that wait, in order, with the request of each of them.
pub struct PendingKernels {
    pub sequenced: SequencedWorkloads<'static>,
    pub requested: Vec<SlotAmounts>,
}

impl ReportedWorkloads {
    /// The workloads of a snapshot that wait. `kernels` are those of the snapshot that have not ended.
    pub fn of(group: &VisibleGroup, kernels: &LiveKernelList) -> Self {
        Self::waiting(&assessed_workloads(group.published(), kernels), |_| true)
    }

    /// The workloads that wait and can ever start.
    pub(in crate::service) fn startable(assessed: &AssessedWorkloads) -> Self {
        Self::waiting(assessed, |impediment| impediment.is_none())
    }

    fn waiting(assessed: &AssessedWorkloads, is_wanted: impl Fn(Option<&StartImpediment>) -> bool) -> Self {
        let waits = |workload: &WorkloadMembers| workload.counts().pending > 0;
        let wanted = assessed.iter().filter(|(workload, impediment)| waits(workload) && is_wanted(*impediment));
        pending_rows(wanted.map(|(workload, impediment)| (&**workload, impediment)))
    }

    pub(in crate::service) fn len(&self) -> usize {
        self.workloads.len()
    }

    /// Adds a workload of each owner that is submitted at `at`, behind the others.
    pub(in crate::service) fn with_new(mut self, owners: &[Member], at: Timestamp) -> Self {
        let new = |(number, owner): (usize, &Member)| PendingWorkload {
            submitted_at: Some(at),
            // The id comes after all others.
            ..PendingWorkload::of_owner(Cow::Owned(format!("\u{10ffff}{number}")), *owner)
        };
        self.workloads.extend(owners.iter().enumerate().map(new));
        self.impediments.resize(self.workloads.len(), None);
        self
    }

    /// Changes the workload with the id, if it is one of them.
    pub(in crate::service) fn change(&mut self, id: &str, change: impl FnOnce(&mut PendingWorkload<'static>)) {
        if let Some(workload) = self.workloads.iter_mut().find(|workload| workload.workload_id == id) {
            change(workload);
        }
    }

    /// Orders the workloads as of `now`, as the group would start them.
    pub(in crate::service) fn order(
        self,
        service: &Service,
        group: &VisibleGroup,
        now: Timestamp,
        explain: bool,
    ) -> Result<SequencedWorkloads<'static>> {
        service.order_of(group.clone(), self.fill(SequenceInput { explain, ..SequenceInput::default() }), now)
    }

    /// The slots that each of them asks for.
    pub fn requested_slots(&self) -> Vec<SlotAmounts> {
        let slots = |workload: &PendingWorkload| workload.requested_slots.as_deref().cloned().unwrap_or_default();
        self.workloads.iter().map(slots).collect()
    }

    /// The input of a sequence of these workloads, with all else from `input`.
    pub fn fill(self, input: SequenceInput<'_>) -> SequenceInput<'_> {
        SequenceInput { workloads: self.workloads, impediments: Some(self.impediments), ..input }
    }
}

impl Service {
    /// The kernels of the group that have not ended, of which [`ReportedWorkloads`] consist.
    pub async fn reported_kernels(&self, group: &VisibleGroup) -> Result<LiveKernelList> {
        self.live_kernels(group.published()).await
    }

    /// The reported workloads of the group that wait, in order, each with the reason why it waits. Keys of users see only the
    /// workloads of their own users.
    #[tracing::instrument(
        name = "service.sequence.pending_sequence",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn pending_sequence(
        &self,
        caller: &Caller,
        group: &str,
        mode: Option<SequenceMode>,
    ) -> Result<PendingKernels> {
        let visible = self.group(caller, group)?;
        let kernels = self.live_kernels(visible.published()).await?;
        let client = visible.access().client();
        let work = || {
            let reported = ReportedWorkloads::of(&visible, &kernels);
            let requested = reported.requested_slots();
            let input = reported.fill(SequenceInput { mode, explain: true, ..SequenceInput::default() });
            let mut sequenced = self.order_of(visible, input, self.clock().now())?;
            // The workloads are not part of the request, so warnings about them have no place in it. Only callers that see
            // all workloads get them.
            sequenced.warnings.iter_mut().for_each(|warning| warning.pointer = None);
            if caller.only_user().is_some() {
                sequenced.warnings.clear();
            }
            Ok(PendingKernels { sequenced, requested })
        };
        self.permits.run(client, work).await
    }
}
