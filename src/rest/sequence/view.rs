//! The answer of a sequence. Its items are made one by one while the answer is written, because there may be hundreds of
//! thousands of them.

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::api::input_warning::InputWarning;
use crate::api::sequence::SequenceAgreement;
use crate::domain::decimal::f64_text;
use crate::domain::options::SequenceMode;
use crate::domain::ranking::RankWalk;
use crate::domain::time::Timestamp;
use crate::engine::group::snapshots::rows::UserShare;
use crate::service::explain::answer::WaitingReason;
use crate::service::forecasts::answer::ForecastView;
use crate::service::sequence::SequencedWorkloads;
use crate::service::workloads::answer::WaitingState;

/// The same workloads, or the first of them, in the order in which they should start.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "sequencer": "fairshare", "mode": "plain", "message": "Ordered by fair-share factor", "calculated_at": "2026-01-13T10:05:00Z",
    "items": [{"workload_id": "job-1", "position": 1, "fair_share_factor": "0.949342117601", "rank": 1}]
}))]
pub struct SequenceAnswer<'a> {
    /// The group's scheduler.
    pub sequencer: &'static str,
    pub mode: SequenceMode,
    pub message: &'static str,
    /// When the factors were calculated; `null` before the first run.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub calculated_at: Option<Timestamp>,
    #[schema(value_type = Vec<SequenceItem>)]
    pub items: SequenceItems<'a>,
    /// The agreement with `current_order`; absent if the request has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub agreement: Option<SequenceAgreement>,
    /// Likely mistakes in the request; absent where there is nothing. The order does not depend on it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Option<Vec<InputWarning>>, nullable = false)]
    pub warnings: &'a [InputWarning],
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SequenceItem<'a> {
    pub workload_id: &'a str,
    /// From 1.
    pub position: u64,
    /// "1" for a user and project that the group does not know yet.
    pub fair_share_factor: String,
    /// The owner's rank; `null` for an owner that the group does not know yet.
    pub rank: Option<u32>,
    /// The usage that the workload counts for from its place on, as a part of the look-back window's capacity; in a
    /// progressive order by `fairshare`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub charge: Option<String>,
    /// The user's factor once the workload counts; in a progressive order by `fairshare`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub factor_after: Option<String>,
    /// How many workloads are before it; with `explain`, like all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ahead: Option<u64>,
    /// The number of owners of those workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub owners_ahead: Option<u64>,
    /// Why it does not come before the one right before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<WaitingReason>,
    /// The reason why it can never start as it is, whatever its position; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waiting: Option<WaitingState>,
    /// The time at which it starts, as the newest forecast of the group says, with `forecast`; absent if none was made of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub forecast: Option<ForecastView>,
    /// Which part of the whole group its owner is entitled to; `null` for an owner that the group does not know yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub entitled_share: Option<Option<String>>,
    /// Which part of what the owner's project has, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub entitled_share_of_parent: Option<Option<String>>,
}

impl<'a> SequenceAnswer<'a> {
    pub fn of(sequenced: &'a SequencedWorkloads<'a>) -> Self {
        let group = &sequenced.group;
        Self {
            sequencer: group.scheduler.name(),
            mode: sequenced.mode,
            message: group.scheduler.success_message(),
            calculated_at: group.calculated_at(),
            items: SequenceItems(sequenced),
            agreement: sequenced.agreement(),
            warnings: &sequenced.warnings,
        }
    }
}

/// The items of a sequence, which exist only while they are written.
pub struct SequenceItems<'a>(&'a SequencedWorkloads<'a>);

impl Serialize for SequenceItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ranks = self.0.rows().users.walk();
        serializer.collect_seq((0..self.0.order.len()).map(|place| SequenceItem::at(self.0, &mut ranks, place)))
    }
}

impl<'a> SequenceItem<'a> {
    /// The workload at a place of the order.
    fn at(sequenced: &'a SequencedWorkloads<'a>, ranks: &mut RankWalk<'_, UserShare>, place: usize) -> Self {
        let at = sequenced.order[place] as usize;
        let (workload, known) = (&sequenced.workloads[at], sequenced.known[at]);
        let charged = sequenced.charged.get(place);
        let explained = sequenced.explained.get(place);
        let entitled = explained.map(|_| sequenced.entitled(workload.owner));
        let latest_first = sequenced.group.scheduler.latest_first();
        Self {
            workload_id: &workload.id,
            position: place as u64 + 1,
            fair_share_factor: f64_text(known.map_or(1.0, |known| known.factor)),
            rank: known.map(|known| ranks.rank(known.exponent)),
            charge: charged.map(|charged| f64_text(charged.charge)),
            factor_after: charged.map(|charged| f64_text(charged.factor_after)),
            ahead: explained.map(|_| place as u64),
            owners_ahead: explained.map(|explained| explained.owners_ahead),
            reason: explained.map(|explained| WaitingReason::of(explained.decision, latest_first)),
            waiting: explained
                .and(sequenced.impediments.get(at))
                .and_then(Option::as_ref)
                .map(|impediment| WaitingState::of(impediment, sequenced.at)),
            forecast: sequenced.forecasts.as_ref().and_then(|forecasts| forecasts.view(&workload.id)),
            entitled_share: entitled.map(|part| part.map(|part| f64_text(part.of_group))),
            entitled_share_of_parent: entitled.map(|part| part.map(|part| f64_text(part.of_parent))),
        }
    }
}
