//! The division of a group's capacity over its queues: now, from the published snapshot, and on past days.

use std::sync::Arc;

use serde_json::{Value, json};

use super::input::page::{CursorKey, Page, PageWindow, day_key, key_day, key_page, key_window};
use super::{Caller, Error, Result, Service};
use crate::domain::division::DivisionTrace;
use crate::engine::group::snapshots::division::SnapshotDivision;
use crate::engine::leases::LeasedWork;
use crate::engine::work::run_to_completion;
use crate::service::visible_group::VisibleGroup;
use crate::store;

pub use crate::engine::group::snapshots::division::QueueFigures;
pub use crate::store::division_days::{DivisionDay, HistoryFilter};

/// A division, with the group that it belongs to.
#[derive(Clone, Debug)]
pub struct GroupDivision {
    pub group: VisibleGroup,
    pub division: Arc<SnapshotDivision>,
}

impl Service {
    /// The amounts that the queues of the group deserve now. `explain` adds each step that gave a queue something.
    #[tracing::instrument(
        name = "service.division.division",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn division(&self, caller: &Caller, group: &str, explain: bool) -> Result<GroupDivision> {
        self.division_of(self.group_for_readers(caller, group)?, explain).await
    }

    async fn division_of(&self, group: VisibleGroup, explain: bool) -> Result<GroupDivision> {
        let now = self.clock().now();
        if let Some(division) = group.published().live.known_division().filter(|_| !explain) {
            return Ok(GroupDivision { group, division });
        }
        let work = || {
            if explain {
                Ok(Arc::new(group.facts().divide(now, DivisionTrace::on()).map_err(Error::not_divisible)?))
            } else {
                group.published().division(now)
            }
        };
        let division = self.permits.run(group.access().client(), work).await?;
        Ok(GroupDivision { group, division })
    }

    /// Stores the group's division as that of today; the last one of a day stays. Returns counts of what was done.
    #[tracing::instrument(name = "service.division.keep_division", level = "debug", skip_all, err(level = "debug"))]
    pub async fn keep_division(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<Value> {
        self.check_clock()?;
        let (service, work) = (Arc::clone(self), work.into());
        let GroupDivision { group, division } =
            self.division_of(self.group(&Caller::job(), &work.group)?, false).await?;
        run_to_completion(async move {
            let rows = division.day_rows(service.clock().now().day());
            let count = rows.len();
            let tx = service.store().begin().await?;
            // If the group is deleted at the same time, either the deletion finds these rows, or this write does not
            // find the group.
            if !store::groups::prevent_deletion(&tx, &group.name).await? {
                return Err(Error::unknown_group(&group.name));
            }
            let Some(day) = rows.first().map(|row| row.day) else { return Ok(json!({"queues": 0})) };
            store::division_days::replace(&tx, &group.name, day, rows).await?;
            work.check_fence(&tx).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            Ok(json!({"queues": count}))
        })
        .await
    }

    /// The name of the history of divisions in page cursors.
    pub const DIVISION_HISTORY: &'static str = "division-history";

    /// The history of divisions, with a row for each day and queue, by day and name.
    #[tracing::instrument(
        name = "service.division.division_history",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn division_history(
        &self,
        caller: &Caller,
        group: &str,
        filter: &HistoryFilter,
        window: &PageWindow,
    ) -> Result<Page<DivisionDay>> {
        self.group_for_readers(caller, group)?;
        let place = key_window(window, |key| match key {
            [CursorKey::Number(day), CursorKey::Text(queue)] => Some((key_day(*day), queue.clone())),
            _ => None,
        })?;
        let found = store::division_days::page(&self.reads_for(caller.client()), group, filter, &place).await?;
        let key = |row: &DivisionDay| vec![day_key(row.day), CursorKey::Text(row.queue.clone())];
        Ok(key_page(Self::DIVISION_HISTORY, found, key, window))
    }

    /// Removes divisions of days that are older than `keep_days`. Returns the number of rows.
    #[tracing::instrument(
        name = "service.division.purge_divisions",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn purge_divisions(&self, group: &str, keep_days: u32) -> Result<u64> {
        let before = self.clock().now().day().back(keep_days);
        Ok(store::day_rows::purge::<DivisionDay>(self.store().write(), group, before).await?)
    }
}
