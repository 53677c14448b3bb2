//! The progressive order of pending workloads (FAIR_SHARE §10).

use super::{OrderedPrefix, total_slots, workloads};
use crate::api::sequence::{PendingWorkload, PlacedWorkload};
use crate::domain::ids::Member;
use crate::domain::sequencer::SequenceWorkload;
use crate::domain::sequencer::progressive::{
    DomainByProject, ProgressiveInput, ProgressiveOrder, ProgressiveSequence, ResourceRequest,
};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;

/// The slots that a workload asks for, and its announced runtime in seconds.
type OwnedRequest = (Option<Box<SlotAmounts>>, Option<u32>);

/// The workloads, and the request of each.
fn with_requests(
    pending: Vec<PendingWorkload<'_>>,
    owners: Vec<Member>,
) -> (Vec<SequenceWorkload<'_>>, Vec<OwnedRequest>) {
    let mut requests = Vec::with_capacity(pending.len());
    let workloads = workloads(pending, owners, |w| requests.push((total_slots(w), w.expected_seconds)));
    (workloads, requests)
}

/// The input of a progressive order, and the wanted parts of its answer.
pub(super) struct ProgressiveRequest<'a, 'p> {
    pub workloads: Vec<PendingWorkload<'a>>,
    /// The owner of each workload.
    pub owners: Vec<Member>,
    /// Workloads that have started but are not among the kernels yet.
    pub placed: Vec<(Member, &'p PlacedWorkload<'a>)>,
    pub domain_assignments: DomainByProject,
    pub most: usize,
    /// True if the answer contains for each workload the reason why it waits.
    pub explain: bool,
}

impl<'a> ProgressiveRequest<'a, '_> {
    /// The workloads, the positions of the first ones, and their charges.
    pub fn order(
        self,
        facts: &GroupSnapshotData,
        sequence: &dyn ProgressiveSequence,
        now: Timestamp,
    ) -> OrderedPrefix<'a> {
        let Self { workloads: pending, owners, placed, domain_assignments, most, explain } = self;
        let (workloads, requests) = with_requests(pending, owners);
        let request = |slots, seconds| ResourceRequest { slots, seconds };
        let requests: Vec<_> = requests.iter().map(|(slots, seconds)| request(slots.as_deref(), *seconds)).collect();
        let placed = placed.iter();
        let placed: Vec<_> =
            placed.map(|(owner, p)| (*owner, request(p.requested_slots.as_deref(), p.expected_seconds))).collect();
        let ProgressiveOrder { order, charged, decisions } = sequence.order(&ProgressiveInput {
            group: facts,
            workloads: &workloads,
            requests: &requests,
            placed: &placed,
            domains: &domain_assignments,
            now,
            most,
            explain,
        });
        OrderedPrefix { workloads, order, charged, decisions }
    }
}
