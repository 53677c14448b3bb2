//! The fairness of every tier by day: stored while the day lasts, and again when it is over.

use std::sync::Arc;

use super::report::known_reports;
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};
use crate::service::group::snapshots::GroupSnapshot;
use crate::service::input::page::{CursorKey, Page, PageWindow, day_key, key_day, key_page, key_window};
use crate::service::work::run_to_completion;
use crate::service::{Caller, Error, LeasedWork, Result, Service};
use crate::store;

pub use crate::store::fairness_days::{FairnessDay, FairnessFilter};

/// The rows for the day of a snapshot's last calculation; none before the first calculation of this process.
pub(in crate::service) fn day_rows(group: &GroupSnapshot, now: Timestamp) -> Vec<FairnessDay> {
    let Some((_, last)) = group.facts.calculated_normalized_days() else { return Vec::new() };
    let day = last.lookback_end;
    let reports = known_reports(group, &[1], now).pop().unwrap_or_default();
    let row = |(tier, report): (Tier, crate::domain::fairness::TierReport)| FairnessDay {
        day,
        tier,
        misallocated_share: report.misallocated_share,
        jains_index: report.jains_index,
        active: u32::try_from(report.entities.len()).unwrap_or(u32::MAX),
        calculated_at: now,
    };
    Tier::ALL.into_iter().zip(reports).map(row).collect()
}

impl Service {
    /// Stores the fairness so far of the day of the group's last calculation. Returns the number of tiers.
    #[tracing::instrument(
        name = "service.fairness.days.keep_fairness",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn keep_fairness(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<usize> {
        self.check_clock()?;
        let work = work.into();
        let group = self.group(&Caller::job(), &work.group)?;
        self.keep_fairness_of(work, Arc::clone(group.published())).await
    }

    /// Stores the fairness of the day of a snapshot's calculation.
    pub(in crate::service) async fn keep_fairness_of(
        self: &Arc<Self>,
        work: LeasedWork,
        group: Arc<GroupSnapshot>,
    ) -> Result<usize> {
        let service = Arc::clone(self);
        run_to_completion(async move {
            let rows = day_rows(&group, service.trusted_now());
            let (count, name) = (rows.len(), &group.facts.name);
            if count == 0 {
                return Ok(0);
            }
            let tx = service.store().begin().await?;
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

    /// The name of the history of fairness in page cursors.
    pub const FAIRNESS_HISTORY: &'static str = "fairness-history";

    /// The fairness of each tier, with a row for each day and tier. It names no owner, so every key that reaches the
    /// group may see it.
    #[tracing::instrument(
        name = "service.fairness.days.fairness_history",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn fairness_history(
        &self,
        caller: &Caller,
        group: &str,
        filter: FairnessFilter,
        window: &PageWindow,
    ) -> Result<Page<FairnessDay>> {
        self.group(caller, group)?;
        let today = self.trusted_now().day();
        if filter.from.is_some_and(|from| from > today) {
            return Err(Error::about("/from", "in_future", format!("lies in the future: today is {today}")));
        }
        if filter.from.zip(filter.to).is_some_and(|(from, to)| to < from) {
            return Err(Error::about("/to", "contradiction", "lies before `from`"));
        }
        let place = key_window(window, |key| match key {
            [CursorKey::Number(day), CursorKey::Text(tier)] => Some((key_day(*day), tier.clone())),
            _ => None,
        })?;
        let found = store::fairness_days::page(self.store().read(), group, filter, &place).await?;
        let key = |row: &FairnessDay| vec![day_key(row.day), CursorKey::Text(row.tier.as_str().to_owned())];
        Ok(key_page(Self::FAIRNESS_HISTORY, found, key, window))
    }

    /// Removes the rows of days that are older than `keep_days`. Returns their number.
    #[tracing::instrument(
        name = "service.fairness.days.purge_fairness",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn purge_fairness(&self, group: &str, keep_days: u32) -> Result<u64> {
        let before: Day = self.clock().now().day().back(keep_days);
        Ok(store::day_rows::purge::<FairnessDay>(self.store().write(), group, before).await?)
    }
}
