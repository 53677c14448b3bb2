//! The fairness of every tier by day: stored while the day lasts, and again when it is over.

use std::sync::Arc;

use super::recent_usage::known_uses;
use crate::domain::fairness::{TierReport, report};
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::leases::LeasedWork;
use crate::engine::work::{run_blocking, run_to_completion};
use crate::store;
use crate::store::fairness_days::FairnessDay;

/// The rows for the day of a snapshot's last calculation; none before the first calculation of this process.
pub(super) fn day_rows(group: &GroupSnapshot, now: Timestamp) -> Vec<FairnessDay> {
    let Some((_, last)) = group.facts.calculated_normalized_days() else { return Vec::new() };
    let day = last.lookback_end;
    let reports = known_reports(group, &[1], now).pop().unwrap_or_default();
    let row = |(tier, report): (Tier, TierReport)| FairnessDay {
        day,
        tier,
        misallocated_share: report.misallocated_share,
        jains_index: report.jains_index,
        active: u32::try_from(report.entities.len()).unwrap_or(u32::MAX),
        calculated_at: now,
    };
    Tier::ALL.into_iter().zip(reports).map(row).collect()
}

/// The reports of all tiers over each of the lengths in days, which ascend, up to the day of the last calculation.
/// Lengths beyond the look-back are left out.
pub(crate) fn known_reports(group: &GroupSnapshot, lengths: &[u32], now: Timestamp) -> Vec<Vec<TierReport>> {
    let tree = &group.entitlements().tree;
    run_blocking(|| known_uses(group, lengths, now).iter().map(|uses| report(tree, uses)).collect())
}

impl FairShareEngine {
    /// Stores the fairness so far of the day of the group's last calculation. Returns the number of tiers.
    #[tracing::instrument(
        name = "engine.day_history.fairness.keep_fairness",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub(crate) async fn keep_fairness(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<usize> {
        self.check_clock()?;
        let work = work.into();
        let group = self.published_group(&work.group)?;
        self.keep_fairness_of(work, group).await
    }

    /// Stores the fairness of the day of a snapshot's calculation.
    pub(super) async fn keep_fairness_of(
        self: &Arc<Self>,
        work: LeasedWork,
        group: Arc<GroupSnapshot>,
    ) -> Result<usize> {
        let engine = Arc::clone(self);
        run_to_completion(async move {
            let rows = day_rows(&group, engine.trusted_now());
            let (count, name) = (rows.len(), &group.facts.name);
            if count == 0 {
                return Ok(0);
            }
            let tx = engine.store.begin().await?;
            // If the group is deleted at the same time, either the deletion finds these rows, or this write does not
            // find the group.
            if !store::groups::prevent_deletion(&tx, name).await? {
                return Err(Error::unknown_group(name));
            }
            store::fairness_days::replace_days(&tx, name, rows).await?;
            work.check_fence(&tx).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            Ok(count)
        })
        .await
    }
}
