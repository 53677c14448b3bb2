//! The impediments of workloads of a request: the reasons why some can never start.

use crate::api::sequence::PendingWorkload;
use crate::domain::ids::Member;
use crate::domain::slots::SlotAmounts;
use crate::domain::workloads::{MemberDemand, StartDemand, StartImpediment};
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::service::reported_workloads::start_limits;

/// The impediment of each workload. The tasks of an array start one by one, so that one of them is compared.
pub(super) fn find(
    facts: &GroupSnapshotData,
    workloads: &[PendingWorkload],
    owners: &[Member],
) -> Vec<Option<StartImpediment>> {
    let nothing = SlotAmounts::default();
    let mut limits = start_limits(facts);
    let mut found = Vec::with_capacity(workloads.len());
    for (workload, owner) in workloads.iter().zip(owners) {
        let slots = workload.requested_slots.as_deref().unwrap_or(&nothing);
        let members = vec![MemberDemand { rules: None, slots }];
        let queue = facts.queue_of(workload.queue.as_deref(), owner.project);
        found.push(limits.impediment(&StartDemand { members, needed: 1, held: SlotAmounts::default(), queue }));
    }
    found
}
