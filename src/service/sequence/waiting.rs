//! Finds the reason why one workload of a group waits. The workload is in one of the group's last sequences, or was reported.

use std::sync::Arc;

use bytes::Bytes;

use super::memory::{KEPT_OF_EACH, RememberedSequence};
use super::pending::ReportedWorkloads;
use super::{ExplainedWorkload, SequenceInput, SequencedWorkloads};
use crate::api::sequence::SequenceRequest;
use crate::domain::ids::Member;
use crate::domain::options::SequenceMode;
use crate::domain::time::Timestamp;
use crate::domain::workloads::AssessedWorkloads;
use crate::service::input::json::read;
use crate::service::reported_workloads::{assessed_workloads, find_workload};
use crate::service::visible_group::VisibleGroup;
use crate::service::workloads::answer::WaitingState;
use crate::service::workloads::ranked::waiting_state;
use crate::service::{Error, Result, Service};

/// A workload in a sequence.
#[derive(Clone, Debug)]
pub struct PendingEntry {
    pub workload_id: String,
    pub owner: Member,
    /// The names by which a scheduler's request gives the owner; `None`: it gives ids, or the workload is reported.
    pub user_name: Option<Arc<str>>,
    pub project_name: Option<Arc<str>>,
    pub sequenced_at: Timestamp,
    pub mode: SequenceMode,
    /// The position, from 1 on, with its explanation; `None` for a reported workload that can never start.
    pub place: Option<(u64, ExplainedWorkload)>,
    /// How many workloads the sequence has.
    pub of: usize,
    /// The reason why it waits, if it is reported.
    pub waiting: Option<WaitingState>,
    /// True if equal workloads start in reverse order.
    pub latest_first: bool,
}

impl Service {
    /// Keeps the last answers to a scheduler, so that they can be explained.
    pub fn remember_sequence(&self, group: VisibleGroup, at: Timestamp, request: Bytes) {
        self.sequences.keep(RememberedSequence { at, group, request });
    }

    /// Frees sequences that no request can ask about any more.
    pub fn forget_sequences(&self) {
        self.sequences.forget(self.clock().now());
    }

    /// The position of a workload in the last sequence of the group that contains it. A reported workload, by its id or that of
    /// one of its kernels, is known to every server of the database, whichever server made the sequence; its position is
    /// that in the present order of all reported workloads. Keys of users may ask about the workloads of their own users.
    pub async fn waiting(self: &Arc<Self>, group: &VisibleGroup, id: &str) -> Result<PendingEntry> {
        let last = self.sequences.last(group, self.clock().now());
        let only = group.access().only_user();
        let find = |last: &RememberedSequence| {
            let request: SequenceRequest = read(&last.request)?;
            let named = request.workloads.iter().flatten().find(|workload| workload.workload_id == id);
            let user_name = named.and_then(|workload| workload.user.as_deref().map(Arc::from));
            let project_name = named.and_then(|workload| workload.project.as_deref().map(Arc::from));
            let input = SequenceInput { limit: None, explain: true, current_order: None, ..request.into() };
            let found = in_order(&self.order_of(last.group.clone(), input, last.at)?, id);
            let found = found.filter(|found| only.is_none_or(|user| user == found.owner.user));
            Ok::<_, Error>(found.map(|found| PendingEntry { user_name, project_name, ..found }))
        };
        let work = || last.iter().find_map(|last| find(last).transpose()).transpose();
        if let Some(found) = self.permits.run(group.access().client(), work).await? {
            // The position is that in the scheduler's own order, and the reason that of the reported workload.
            let waiting = match found.waiting.clone() {
                None => self.reported_reason(group, id).await?,
                known => known,
            };
            return Ok(PendingEntry { waiting, ..found });
        }
        self.waiting_workload(group, id).await?.ok_or_else(|| {
            let detail = format!(
                "no reported workload that waits in {:?} has the id {id:?}, and the last sequences do not have such a workload: this server \
                 knows the last {KEPT_OF_EACH} of the last 10 minutes that it has answered itself",
                group.name
            );
            Error::NotFound { code: "unknown_workload", detail }
        })
    }

    /// The reason why a reported workload waits.
    async fn reported_reason(&self, group: &VisibleGroup, id: &str) -> Result<Option<WaitingState>> {
        let kernels = self.live_kernels(group.published()).await?;
        let reasons = self.cycle_reasons(group).await?;
        let now = self.clock().now();
        let work = || {
            let assessed = assessed_workloads(group.published(), &kernels);
            let found = find_waiting(group, &assessed, id);
            Ok(found.and_then(|(place, _)| waiting_state(group, &assessed, &reasons, place, now)))
        };
        self.permits.run(group.access().client(), work).await
    }

    /// The position of a reported workload among all reported workloads that can ever start.
    async fn waiting_workload(self: &Arc<Self>, group: &VisibleGroup, id: &str) -> Result<Option<PendingEntry>> {
        let kernels = self.live_kernels(group.published()).await?;
        let reasons = self.cycle_reasons(group).await?;
        let now = self.clock().now();
        let work = || {
            let assessed = assessed_workloads(group.published(), &kernels);
            let Some((place, owner)) = find_waiting(group, &assessed, id) else { return Ok(None) };
            let workload = &assessed.workloads[place];
            let sequenced = ReportedWorkloads::startable(&assessed).order(self, group, now, true)?;
            let entry =
                in_order(&sequenced, &workload.id).unwrap_or_else(|| PendingEntry::of(&sequenced, &workload.id, owner));
            let waiting = waiting_state(group, &assessed, &reasons, place, now);
            Ok(Some(PendingEntry { waiting, ..entry }))
        };
        self.permits.run(group.access().client(), work).await
    }
}

/// The place and the owner of a reported workload that waits and that the caller may see.
pub(in crate::service) fn find_waiting(
    group: &VisibleGroup,
    assessed: &AssessedWorkloads,
    id: &str,
) -> Option<(usize, Member)> {
    let place = find_workload(&assessed.workloads, id)?;
    let workload = &assessed.workloads[place];
    let owner = workload.representative()?.owner;
    let is_seen = group.access().only_user().is_none_or(|user| user == owner.user);
    (is_seen && workload.counts().pending > 0).then_some((place, owner))
}

impl PendingEntry {
    /// A workload without a place in the sequence.
    fn of(sequenced: &SequencedWorkloads<'_>, id: &str, owner: Member) -> Self {
        Self {
            workload_id: id.to_owned(),
            owner,
            user_name: None,
            project_name: None,
            sequenced_at: sequenced.at,
            mode: sequenced.mode,
            place: None,
            of: sequenced.order.len(),
            waiting: None,
            latest_first: sequenced.group.scheduler.latest_first(),
        }
    }
}

fn in_order(sequenced: &SequencedWorkloads<'_>, id: &str) -> Option<PendingEntry> {
    let places = sequenced.order.iter().zip(&sequenced.explained).zip(1..);
    let find = |((at, explained), position): ((&u32, &ExplainedWorkload), u64)| {
        let workload = &sequenced.workloads[*at as usize];
        let impediment = sequenced.impediments.get(*at as usize).and_then(Option::as_ref);
        (workload.id == id).then(|| PendingEntry {
            place: Some((position, *explained)),
            waiting: impediment.map(|impediment| WaitingState::of(impediment, sequenced.at)),
            ..PendingEntry::of(sequenced, id, workload.owner)
        })
    };
    places.into_iter().find_map(find)
}
