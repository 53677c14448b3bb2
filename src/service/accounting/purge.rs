//! Removes what no calculation can reach any more: records, old buckets, and when the service ran.

use std::sync::Arc;

use crate::service::group::session::Session;
use crate::service::work::background;
use crate::service::{PublishedGroup, Result, Service, Work};
use crate::store;

impl Service {
    /// Removes records that no look-back can reach any more, and buckets of the days before `keep_buckets_days`.
    pub async fn purge(self: &Arc<Self>, work: impl Into<Work>, keep_buckets_days: u32) -> Result<(u64, u64)> {
        self.check_clock()?;
        let (service, work) = (Arc::clone(self), work.into());
        let longest = self.longest_reach();
        background(async move {
            let mut session = Session::for_run(&service, &work).await?;
            let (today, group) = (session.now.day(), work.group.as_str());
            let records_before = today.plus(-longest.cast_signed());
            let records = store::records::purge(session.tx(), group, records_before).await?;
            if records > 0 || session.state().group.records_from.is_some() {
                let from = session.state().group.records_from.map_or(records_before, |d| d.max(records_before));
                session.state_mut().group.records_from = Some(from);
                session.update().records_from = Some(from);
            }
            let keep = keep_buckets_days.max(longest);
            let buckets = store::buckets::purge(session.tx(), group, today.plus(-keep.cast_signed())).await?;
            session.commit().await?;
            Ok((records, buckets))
        })
        .await
    }

    /// Removes what is known of when the service ran before any look-back. Returns how many starts that was.
    pub async fn purge_service_runs(&self) -> Result<u64> {
        let today = self.clock.now().day();
        let before = today.plus(-self.longest_reach().cast_signed()).start();
        Ok(store::runs::purge(self.store.write(), before).await?)
    }

    /// How many days back the calculation of some group may look.
    fn longest_reach(&self) -> u32 {
        let reach = |g: &Arc<PublishedGroup>| g.options.lookback_days + g.options.decay_unit_days;
        self.published_groups().iter().map(reach).max().unwrap_or(0)
    }
}
