//! The workloads of a group that have not ended, with their positions in the group's order and with what keeps some of them
//! from ever starting.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::answer::{StatusChangeView, WaitingState, WorkloadItem};
use crate::domain::ids::KernelKey;
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::time::Timestamp;
use crate::domain::workloads::{AssessedWorkloads, StatusChange, WorkloadMembers};
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::PeopleDirectory;
use crate::service::cycle_plans::memory::CycleReasons;
use crate::service::reported_workloads::queue_of;
use crate::service::sequence::SequencedWorkloads;
use crate::service::sequence::pending::ReportedWorkloads;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Result, Service};

/// The most kernels that an item lists.
const MAX_LISTED_KERNELS: usize = 1_000;

/// A workload with its place among those that wait.
#[derive(Clone, Debug)]
pub(super) struct RankedWorkload {
    pub workload: Arc<WorkloadMembers>,
    /// The queue that it counts for.
    pub queue: String,
    /// From 1; `None`: nothing of it waits, or it can never start.
    pub position: Option<u64>,
    /// `None`: nothing of it waits, or it could start now.
    pub waiting: Option<WaitingState>,
}

/// The wanted workloads, by their places, with their positions as of `now`, and with the reasons of a cycle. Nothing is ordered if
/// none of them can have a position.
pub(super) fn rank_workloads(
    service: &Service,
    group: &VisibleGroup,
    assessed: &AssessedWorkloads,
    reasons: &CycleReasons,
    now: Timestamp,
    wanted: &[usize],
) -> Result<Vec<RankedWorkload>> {
    let may_start = |at: &usize| assessed.impediments[*at].is_none() && assessed.workloads[*at].counts().pending > 0;
    let order = || ReportedWorkloads::startable(assessed).order(service, group, now, false);
    let sequenced = wanted.iter().any(may_start).then(order).transpose()?;
    let positions: BTreeMap<&str, u64> = sequenced.iter().flat_map(SequencedWorkloads::ids).zip(1..).collect();
    let ranked = |at: &usize| {
        let workload = &assessed.workloads[*at];
        RankedWorkload {
            queue: queue_of(group.facts(), workload).to_owned(),
            position: positions.get(&*workload.id).copied(),
            workload: Arc::clone(workload),
            waiting: waiting_state(group, assessed, reasons, *at, now),
        }
    };
    Ok(wanted.iter().map(ranked).collect())
}

/// The reason why a workload waits: its impediment, otherwise the reason of the cycle.
pub(in crate::service) fn waiting_state(
    group: &VisibleGroup,
    assessed: &AssessedWorkloads,
    reasons: &CycleReasons,
    place: usize,
    now: Timestamp,
) -> Option<WaitingState> {
    if let Some(impediment) = &assessed.impediments[place] {
        return Some(WaitingState::of(impediment, now));
    }
    let workload = &assessed.workloads[place];
    let waiting = reasons.of_workload(&workload.id).filter(|_| workload.counts().pending > 0)?;
    Some(WaitingState::of_cycle(waiting, reasons.as_of, |id| is_visible_workload(group, assessed, id)))
}

/// True if the caller may know the workload with the id: keys of users know those of their own users.
pub(in crate::service) fn is_visible_workload(group: &VisibleGroup, assessed: &AssessedWorkloads, id: &str) -> bool {
    let Some(user) = group.access().only_user() else { return true };
    let known = assessed.workloads.binary_search_by(|workload| (*workload.id).cmp(id)).ok();
    known.and_then(|at| assessed.workloads[at].representative()).is_some_and(|kernel| kernel.owner.user == user)
}

impl RankedWorkload {
    /// The workload with the number of its members that have ended besides those that it lists. `None` for one without members.
    pub fn item(&self, facts: &GroupSnapshotData, people: &PeopleDirectory, ended: u64) -> Option<WorkloadItem> {
        let workload = &self.workload;
        let kernel = workload.representative()?;
        let owner = kernel.owner;
        let (user, project) = people.names(owner);
        let domain = facts.rows.project(owner.project).map(|row| Arc::clone(&row.domain_name));
        let domain = domain.or_else(|| people.project(owner.project).map(|row| Arc::clone(&row.domain_name)));
        let mut members = workload.counts();
        members.ended += ended;
        members.total += ended;
        let labels = kernel.rules.as_ref().map(|rules| rules.labels.clone()).unwrap_or_default();
        let change = |StatusChange { status, at }| StatusChangeView { status, at };
        Some(WorkloadItem {
            workload_id: workload.id.to_string(),
            status: workload.status(),
            domain_name: domain.map_or_else(|| UNKNOWN_DOMAIN.to_owned(), |name| name.to_string()),
            project_id: owner.project.0,
            project,
            user_uuid: owner.user.0,
            user,
            queue: self.queue.clone(),
            priority: workload.priority(),
            preemptible: workload.is_preemptible(),
            members,
            gang_min: workload.gang_min(),
            requested_slots: workload.requested_slots(),
            held_slots: workload.held_slots(),
            labels,
            charge_class: kernel.charge_class.clone().unwrap_or_default(),
            submitted_at: workload.submitted_at(),
            expected_seconds: workload.expected_seconds(),
            status_changes: workload.status_changes().into_iter().map(change).collect(),
            waiting_since: workload.waiting_since(),
            position: self.position,
            waiting: self.waiting.clone(),
            forecast: None,
            helps: None,
            known_order: workload.known_order().map(KernelKey::in_group),
            kernel_ids: None,
        })
    }

    /// The ids of its first kernels.
    pub fn kernel_ids(&self) -> Vec<Uuid> {
        self.workload.members().iter().take(MAX_LISTED_KERNELS).map(|member| member.kernel.id).collect()
    }
}
