//! Inferred ends: of kernels that are missing in a snapshot of all running kernels, and of kernels that were not
//! reported for too long.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use crate::domain::ids::KernelId;
use crate::domain::slice::overlapping_range;
use crate::domain::time::{MICROS_PER_SECOND, TimeSpan, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::audit::{AuditAuthor, AuditedChange, INFERRED_END_ACTION};
use crate::engine::error::{Error, Result};
use crate::engine::group::reported::ReportedKernels;
use crate::engine::group::transaction::GroupTransaction;
use crate::store;
use crate::store::running::RunningKernel;

/// The largest time that a snapshot may be ahead of the server's clock, in seconds.
const MAX_AHEAD_SECONDS: i64 = 60;
/// The largest number of kernels that an answer or an audit entry lists.
pub const MAX_LISTED_ENDS: usize = 1_000;

/// All running kernels of a group at one moment, as its scheduler knows them.
#[derive(Clone, Copy, Debug)]
pub struct RunningSnapshot {
    pub taken_at: Timestamp,
    /// True if missing kernels end at their last report, instead of at `taken_at`.
    pub at_last_seen: bool,
    /// True if the snapshot may end more than half of the running kernels.
    pub force: bool,
}

impl FairShareEngine {
    /// Refuses a snapshot whose time is in the future or before that of an earlier snapshot.
    #[tracing::instrument(
        name = "engine.ingest.inferred.check_snapshot",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub(crate) async fn check_snapshot(&self, group: &str, taken_at: Timestamp) -> Result<()> {
        if taken_at > self.clock().now().plus_micros(MAX_AHEAD_SECONDS * MICROS_PER_SECOND) {
            return Err(Error::about("/taken_at", "out_of_range", "lies ahead of the server's clock"));
        }
        let known =
            store::groups::find(self.store().read(), group).await?.ok_or_else(|| Error::unknown_group(group))?;
        check_order(known.snapshot_at, taken_at)
    }

    /// Ends the running kernels that are not in `present`, after the rows of the snapshot were taken. Returns them by
    /// id.
    #[tracing::instrument(
        name = "engine.ingest.inferred.end_missing",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub(crate) async fn end_missing(
        self: Arc<Self>,
        author: AuditAuthor,
        group: String,
        snapshot: RunningSnapshot,
        present: HashSet<KernelId>,
    ) -> Result<Vec<KernelId>> {
        let by = author.clone();
        let change = async move |session: &mut GroupTransaction| {
            let before = session.state().group.snapshot_at;
            check_order(before, snapshot.taken_at)?;
            let running = store::running::load_running_kernels(session.read(), session.key()).await?;
            let count = running.len();
            let missing = running.into_iter().filter(|kernel| {
                let unseen = kernel.seen_at.max(before).is_none_or(|at| at < snapshot.taken_at);
                kernel.started_at <= snapshot.taken_at && unseen && !present.contains(&kernel.id)
            });
            let end = |kernel: &RunningKernel| match kernel.seen_at.max(before).filter(|_| snapshot.at_last_seen) {
                Some(seen) => seen,
                None => snapshot.taken_at,
            };
            let ends: BTreeMap<KernelId, Timestamp> = missing.map(|kernel| (kernel.id, end(&kernel))).collect();
            if !snapshot.force && !ends.is_empty() && (present.is_empty() || 2 * ends.len() > count) {
                return Err(too_many(ends.len(), count, present.len()));
            }
            session.state_mut().group.snapshot_at = Some(snapshot.taken_at);
            end_all(session, &by, &ends, "snapshot").await
        };
        Ok(self.change(author, group, change).await?.0)
    }
}

fn check_order(before: Option<Timestamp>, taken_at: Timestamp) -> Result<()> {
    match before.filter(|before| taken_at < *before) {
        Some(before) => {
            let detail = format!("a later snapshot was taken at {before}; nothing was ended");
            Err(Error::Conflict { code: "stale_snapshot", detail })
        }
        None => Ok(()),
    }
}

fn too_many(ends: usize, running: usize, present: usize) -> Error {
    let detail = format!(
        "the snapshot names {present} kernels and would end {ends} of {running} that run; its rows were taken, nothing \
         was ended; force=true ends them"
    );
    let counts = [("present", present), ("would_end", ends), ("running", running)];
    let counts = counts.into_iter().map(|(kind, count)| (kind, count as u64)).collect();
    Error::Guarded { code: "confirmation_needed", detail, counts }
}

/// Ends the kernels without a report within the group's `kernel_timeout_seconds`, at the time of their last report.
/// Only time counts in which this server was up and other reports arrived.
pub(crate) async fn time_out(session: &mut GroupTransaction) -> Result<()> {
    let state = session.state();
    let Some(seconds) = state.options.kernel_timeout_seconds else { return Ok(()) };
    let (Some(reported_at), snapshot_at) = (state.group.reported_at, state.group.snapshot_at) else { return Ok(()) };
    let downtimes = session.engine().downtimes(1);
    let limit = u64::from(seconds) * MICROS_PER_SECOND.unsigned_abs();
    let silent = |from: Timestamp| {
        let Some(whole) = TimeSpan::new(from, reported_at) else { return 0 };
        let served = whole.without(&downtimes[overlapping_range(&downtimes, whole)]);
        served.into_iter().map(TimeSpan::micros).sum::<u64>()
    };
    let running = store::running::load_running_kernels(session.read(), state.group.key).await?;
    let seen = running.iter().filter_map(|kernel| Some((kernel.id, kernel.seen_at.max(snapshot_at)?)));
    let ends: BTreeMap<KernelId, Timestamp> = seen.filter(|(_, seen)| silent(*seen) >= limit).collect();
    end_all(session, &AuditAuthor::internal("aggregate"), &ends, "kernel_timeout_seconds").await?;
    Ok(())
}

/// Stores inferred ends, with the reason in the audit log.
async fn end_all(
    session: &mut GroupTransaction,
    author: &AuditAuthor,
    ends: &BTreeMap<KernelId, Timestamp>,
    why: &str,
) -> Result<Vec<KernelId>> {
    if ends.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<KernelId> = ends.keys().copied().collect();
    let now = session.now;
    let mut changed: ReportedKernels = Vec::with_capacity(ids.len());
    for (_, kernel) in store::kernels::find_many(session.read(), &ids).await? {
        let Some(end) = ends.get(&kernel.report.id) else { continue };
        changed.push((Some(kernel.clone()), kernel.ended_at(*end)));
    }
    changed.sort_unstable_by_key(|(_, kernel)| kernel.report.id);
    session.save_kernels(&mut changed, now).await?;
    let named: Vec<String> = ids.iter().take(MAX_LISTED_ENDS).map(ToString::to_string).collect();
    let change = AuditedChange {
        action: INFERRED_END_ACTION,
        target: session.group().to_owned(),
        before: None,
        after: Some(json!({"ended": ids.len(), "kernel_ids": named, "why": why})),
        reason: None,
    };
    session.audit_as(author, change).await?;
    Ok(ids)
}
