//! Why one workload of the last sequences of a group waits.

use std::sync::Arc;

use bytes::Bytes;

use super::memory::{KEPT_OF_EACH, Remembered};
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
pub struct Waiting {
    pub owner: Member,
    pub sequenced_at: Timestamp,
    pub mode: SequenceMode,
    /// From 1.
    pub position: u64,
    /// How many workloads the sequence has.
    pub of: usize,
    pub explained: Explained,
    /// Whether equals start in reverse.
    pub latest_first: bool,
}

impl Service {
    /// Keeps what a scheduler was told last, so that it can be explained.
    pub fn remember_sequence(&self, group: VisibleGroup, at: Timestamp, request: Bytes) {
        self.sequences.keep(Remembered { at, group, request });
    }

    /// Frees sequences that no caller can ask about any more.
    pub fn forget_sequences(&self) {
        self.sequences.forget(self.clock().now());
    }

    /// Where a workload stands in the last sequence of the group that has it. Keys of users may ask about their own users' ones.
    pub async fn waiting(self: &Arc<Self>, group: &VisibleGroup, id: &str) -> Result<Waiting> {
        let last = self.sequences.last(group, self.clock().now());
        let (service, wanted, only) = (Arc::clone(self), id.to_owned(), group.access().only_user());
        let find = move |last: &Remembered| {
            let request: SequenceRequest = read(&last.request)?;
            let input = SequenceInput { limit: None, explain: true, ..request.into() };
            let found = in_order(&service.order_of(last.group.clone(), input, last.at)?, &wanted);
            Ok::<_, Error>(found.filter(|found| only.is_none_or(|user| user == found.owner.user)))
        };
        let work = move || last.iter().find_map(|last| find(last).transpose()).transpose();
        self.permits.run(work).await?.ok_or_else(|| {
            let detail = format!(
                "the last sequences of {:?} do not have the workload {id:?}: of each group the last {KEPT_OF_EACH} of the last \
                 10 minutes are known",
                group.name
            );
            Error::NotFound { code: "unknown_workload", detail }
        })
    }
}

fn in_order(sequenced: &Sequenced<'_>, id: &str) -> Option<Waiting> {
    let places = sequenced.order.iter().zip(&sequenced.explained).zip(1..);
    let find = |((at, explained), position): ((&u32, &Explained), u64)| {
        let workload = &sequenced.workloads[*at as usize];
        (workload.id == id).then(|| Waiting {
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
