//! Finds the reason why one workload of a group waits. The workload is in one of the group's last sequences, or is a
//! pending kernel.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::memory::{KEPT_OF_EACH, Remembered};
use super::pending::pending_workloads;
use super::request::SequenceRequest;
use super::{Explained, SequenceInput, Sequenced};
use crate::domain::ids::Member;
use crate::domain::options::SequenceMode;
use crate::domain::time::Timestamp;
use crate::service::group::visible::VisibleGroup;
use crate::service::input::json::read;
use crate::service::{Error, Result, Service};

/// A workload in a sequence.
#[derive(Clone, Debug)]
pub struct PendingEntry {
    pub owner: Member,
    pub sequenced_at: Timestamp,
    pub mode: SequenceMode,
    /// The position, from 1 on.
    pub position: u64,
    /// How many workloads the sequence has.
    pub of: usize,
    pub explained: Explained,
    /// True if equal workloads start in reverse order.
    pub latest_first: bool,
}

impl Service {
    /// Keeps the last answers to a scheduler, so that they can be explained.
    pub fn remember_sequence(&self, group: VisibleGroup, at: Timestamp, request: Bytes) {
        self.sequences.keep(Remembered { at, group, request });
    }

    /// Frees sequences that no request can ask about any more.
    pub fn forget_sequences(&self) {
        self.sequences.forget(self.clock().now());
    }

    /// The position of a workload in the last sequence of the group that contains it. A pending kernel, by its id, is
    /// known to every server of the database, whichever server made the sequence; its position is that in the present
    /// order of pending kernels. Keys of users may ask about the workloads of their own users.
    pub async fn waiting(self: &Arc<Self>, group: &VisibleGroup, id: &str) -> Result<PendingEntry> {
        let last = self.sequences.last(group, self.clock().now());
        let only = group.access().only_user();
        let find = |last: &Remembered| {
            let request: SequenceRequest = read(&last.request)?;
            let input = SequenceInput { limit: None, explain: true, ..request.into() };
            let found = in_order(&self.order_of(last.group.clone(), input, last.at)?, id);
            Ok::<_, Error>(found.filter(|found| only.is_none_or(|user| user == found.owner.user)))
        };
        let work = || last.iter().find_map(|last| find(last).transpose()).transpose();
        if let Some(found) = self.permits.run(group.access().key(), work).await? {
            return Ok(found);
        }
        self.waiting_kernel(group, id).await?.ok_or_else(|| {
            let detail = format!(
                "no pending kernel of {:?} has the id {id:?}, and the last sequences do not have such a workload: this server \
                 knows the last {KEPT_OF_EACH} of the last 10 minutes that it has answered itself",
                group.name
            );
            Error::NotFound { code: "unknown_workload", detail }
        })
    }

    /// The position of a pending kernel among all pending kernels of the group.
    async fn waiting_kernel(self: &Arc<Self>, group: &VisibleGroup, id: &str) -> Result<Option<PendingEntry>> {
        let Ok(kernel) = id.parse::<Uuid>() else { return Ok(None) };
        let (kernel, only) = (kernel.to_string(), group.access().only_user());
        let workloads = pending_workloads(self.store().read(), group.key).await?;
        let mut visible = workloads.iter().filter(|workload| only.is_none_or(|user| workload.user_uuid == Some(user)));
        if !visible.any(|workload| workload.workload_id == kernel) {
            return Ok(None);
        }
        let now = self.clock().now();
        let work = || {
            let input = SequenceInput { workloads, explain: true, ..SequenceInput::default() };
            Ok(in_order(&self.order_of(group.clone(), input, now)?, &kernel))
        };
        self.permits.run(group.access().key(), work).await
    }
}

fn in_order(sequenced: &Sequenced<'_>, id: &str) -> Option<PendingEntry> {
    let places = sequenced.order.iter().zip(&sequenced.explained).zip(1..);
    let find = |((at, explained), position): ((&u32, &Explained), u64)| {
        let workload = &sequenced.workloads[*at as usize];
        (workload.id == id).then(|| PendingEntry {
            owner: workload.owner,
            sequenced_at: sequenced.at,
            mode: sequenced.mode,
            position,
            of: sequenced.order.len(),
            explained: *explained,
            latest_first: sequenced.group.scheduler.latest_first(),
        })
    };
    places.into_iter().find_map(find)
}
