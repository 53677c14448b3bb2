//! The fairness of every tier by day: stored while the day lasts, and again when it is over.

use crate::domain::time::Day;
use crate::engine::leases::LeasedWork;
use crate::service::input::page::{CursorKey, Page, PageWindow, day_key, key_day, key_page, key_window};
use crate::service::{Caller, Error, Result, Service};
use crate::store;

pub use crate::store::fairness_days::{FairnessDay, FairnessFilter};

impl Service {
    /// Stores the fairness so far of the day of the group's last calculation. Returns the number of tiers.
    pub async fn keep_fairness(&self, work: impl Into<LeasedWork>) -> Result<usize> {
        self.engine.keep_fairness(work).await
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
        let found = store::fairness_days::page(&self.reads_for(caller.client()), group, filter, &place).await?;
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
