//! Why one workload of the last sequence of a group waits.

use std::sync::Arc;

use bytes::Bytes;

use super::memory::Remembered;
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

    /// Frees sequences that nobody can ask about any more.
    pub fn forget_sequences(&self) {
        self.sequences.forget(self.clock().now());
    }

    /// Where a workload stands in the last sequence of the group. Keys of users may ask about their own users' ones.
    pub async fn waiting(self: &Arc<Self>, group: &VisibleGroup, id: &str) -> Result<Waiting> {
        let last = self.sequences.last(group, self.clock().now());
        let detail = format!("no sequence of {:?} in the last 10 minutes has the workload {id:?}", group.name);
        let unknown = Error::NotFound { code: "unknown_workload", detail };
        let Some(last) = last else { return Err(unknown) };
        let (service, wanted) = (Arc::clone(self), id.to_owned());
        let work = move || {
            let request: SequenceRequest = read(&last.request)?;
            let input = SequenceInput { limit: None, explain: true, ..request.into() };
            Ok::<_, Error>(in_order(&service.order_of(last.group.clone(), input, last.at)?, &wanted))
        };
        let only = group.access().only_user();
        let found = self.permits.run(work).await?.filter(|found| only.is_none_or(|user| user == found.owner.user));
        found.ok_or(unknown)
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
