//! The answer of a sequence. It is written directly from the sequenced workloads, without a tree of values for hundreds
//! of thousands of items.

use std::hint::black_box;

use axum::body::Body;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::decimal::{f64_text, push_f64};
use crate::domain::options::SequenceMode;
use crate::domain::ranking::Walk;
use crate::rest::whole::JsonEnvelope;
use crate::service::Error;
use crate::service::explain::answer::WaitingReason;
use crate::service::group::published::rows::UserShare;
use crate::service::input::warning::InputWarning;
use crate::service::sequence::Sequenced;

/// The same workloads, or the first of them, in the order in which they should start.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "sequencer": "fairshare", "mode": "plain", "message": "Ordered by fair-share factor", "calculated_at": "2026-01-13T10:05:00Z",
    "items": [{"workload_id": "job-1", "position": 1, "fair_share_factor": "0.949342117601", "rank": 1}]
}))]
pub struct SequenceAnswer {
    /// The group's scheduler.
    pub sequencer: String,
    pub mode: SequenceMode,
    pub message: String,
    /// When the factors were calculated; `null` before the first run.
    #[schema(format = DateTime)]
    pub calculated_at: Option<String>,
    pub items: Vec<SequenceItem>,
    /// Likely mistakes in the request; absent where there is nothing. The order does not depend on it.
    #[schema(nullable = false)]
    pub warnings: Option<Vec<InputWarning>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SequenceItem {
    pub workload_id: String,
    /// From 1.
    pub position: u64,
    /// "1" for a user and project that the group does not know yet.
    pub fair_share_factor: String,
    /// The owner's rank; `null` for an owner that the group does not know yet.
    pub rank: Option<u32>,
    /// The usage that the workload counts for from its place on, as a part of the look-back window's capacity; in a
    /// progressive
    /// order by `fairshare`.
    #[schema(nullable = false)]
    pub charge: Option<String>,
    /// The user's factor once the workload counts; in a progressive order by `fairshare`.
    #[schema(nullable = false)]
    pub factor_after: Option<String>,
    /// How many workloads are before it; with `explain`, like all that follows.
    #[schema(nullable = false)]
    pub ahead: Option<u64>,
    /// The number of owners of those workloads.
    #[schema(nullable = false)]
    pub owners_ahead: Option<u64>,
    /// Why it does not come before the one right before it.
    #[schema(nullable = false)]
    pub reason: Option<WaitingReason>,
    /// Which part of the whole group its owner is entitled to; `null` for an owner that the group does not know yet.
    pub entitled_share: Option<String>,
    /// Which part of what the owner's project has, likewise.
    pub entitled_share_of_parent: Option<String>,
}

/// The approximate size of an item, and of its charge and its reason, in bytes.
const ITEM_BYTES: usize = 128;
const CHARGED_BYTES: usize = 64;
const EXPLAINED_BYTES: usize = 256;

/// Sequences with more workloads do not fit into the processor's cache.
const MANY: usize = 10_000;
/// The number of items by which texts are read ahead.
const AHEAD: usize = 8;

/// Writes the answer with the form of [`SequenceAnswer`].
pub fn write(sequenced: &Sequenced<'_>) -> Result<Body, Error> {
    let count = sequenced.order.len();
    let bytes = [
        (true, ITEM_BYTES),
        (sequenced.charged.len() == count, CHARGED_BYTES),
        (sequenced.explained.len() == count, EXPLAINED_BYTES),
    ];
    let bytes = bytes.into_iter().filter(|(has, _)| *has).map(|(_, bytes)| bytes).sum();
    let before = head(sequenced).map_err(|e| Error::failed("the answer was not written", e))?;
    let after = tail(sequenced).map_err(|e| Error::failed("the answer was not written", e))?;
    JsonEnvelope { before: &before, after: &after }.rows(count, bytes, || {
        let mut ranks = sequenced.rows().users.walk();
        move |at, out| {
            if count > MANY {
                fetch_ahead(sequenced, at);
            }
            item(sequenced, &mut ranks, at, out)
        }
    })
}

/// Reads parts of the next items, so that they are in the processor's cache when they are written. Without this, most
/// reads would miss the cache, because the order of the answer is not that of the memory.
fn fetch_ahead(sequenced: &Sequenced<'_>, place: usize) {
    let at = |place: usize| sequenced.order.get(place).map(|at| *at as usize);
    // The text is found through the workload, which is read one step earlier.
    let text = at(place + AHEAD).and_then(|at| sequenced.workloads[at].id.as_bytes().first());
    let next = at(place + 2 * AHEAD).map(|at| (sequenced.workloads[at].priority, sequenced.known[at].is_some()));
    black_box((text, next));
}

fn head(sequenced: &Sequenced<'_>) -> serde_json::Result<Vec<u8>> {
    let group = &sequenced.group;
    let mut out = b"{\"sequencer\":".to_vec();
    serde_json::to_writer(&mut out, group.scheduler.name())?;
    out.extend_from_slice(b",\"mode\":");
    serde_json::to_writer(&mut out, &sequenced.mode)?;
    out.extend_from_slice(b",\"message\":");
    serde_json::to_writer(&mut out, group.scheduler.success_message())?;
    out.extend_from_slice(b",\"calculated_at\":");
    serde_json::to_writer(&mut out, &group.calculated_at())?;
    out.extend_from_slice(b",\"items\":[");
    Ok(out)
}

fn tail(sequenced: &Sequenced<'_>) -> serde_json::Result<Vec<u8>> {
    let mut out = b"]".to_vec();
    if !sequenced.warnings.is_empty() {
        out.extend_from_slice(b",\"warnings\":");
        serde_json::to_writer(&mut out, &sequenced.warnings)?;
    }
    out.push(b'}');
    Ok(out)
}

/// Appends the workload at a place of the order.
fn item(
    sequenced: &Sequenced<'_>,
    ranks: &mut Walk<'_, UserShare>,
    place: usize,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let at = sequenced.order[place] as usize;
    let (workload, known) = (&sequenced.workloads[at], sequenced.known[at]);
    out.extend_from_slice(b"{\"workload_id\":");
    serde_json::to_writer(&mut *out, &workload.id)?;
    out.extend_from_slice(b",\"position\":");
    serde_json::to_writer(&mut *out, &(place + 1))?;
    out.extend_from_slice(b",\"fair_share_factor\":\"");
    push_f64(out, known.map_or(1.0, |known| known.factor));
    out.extend_from_slice(b"\",\"rank\":");
    serde_json::to_writer(&mut *out, &known.map(|known| ranks.rank(known.exponent)))?;
    if let Some(charged) = sequenced.charged.get(place) {
        out.extend_from_slice(b",\"charge\":\"");
        push_f64(out, charged.charge);
        out.extend_from_slice(b"\",\"factor_after\":\"");
        push_f64(out, charged.factor_after);
        out.push(b'"');
    }
    if let Some(explained) = sequenced.explained.get(place) {
        out.extend_from_slice(b",\"ahead\":");
        serde_json::to_writer(&mut *out, &place)?;
        out.extend_from_slice(b",\"owners_ahead\":");
        serde_json::to_writer(&mut *out, &explained.owners_ahead)?;
        out.extend_from_slice(b",\"reason\":");
        let (decided_by, because) =
            (explained.decision.as_str(), explained.decision.because(sequenced.group.scheduler.latest_first()));
        serde_json::to_writer(&mut *out, &WaitingReason { decided_by, because })?;
        let entitled = sequenced.entitled(workload.owner);
        let [of_group, of_parent] =
            [entitled.map(|part| part.of_group), entitled.map(|part| part.of_parent)].map(|part| part.map(f64_text));
        out.extend_from_slice(b",\"entitled_share\":");
        serde_json::to_writer(&mut *out, &of_group)?;
        out.extend_from_slice(b",\"entitled_share_of_parent\":");
        serde_json::to_writer(&mut *out, &of_parent)?;
    }
    out.push(b'}');
    Ok(())
}
