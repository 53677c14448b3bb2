//! Removes what no calculation can reach any more: records, old buckets, and when the service ran.

use std::sync::Arc;

use crate::service::group::published::PublishedGroup;
use crate::service::group::session::Session;
use crate::service::work::background;
use crate::service::{Result, Service, Work};
use crate::store;

impl Service {
    /// Removes records that no look-back can reach any more, and buckets of the days before `keep_buckets_days`.
    #[tracing::instrument(name = "service.accounting.purge.purge", level = "debug", skip_all, err(level = "debug"))]
    pub async fn purge(self: &Arc<Self>, work: impl Into<Work>, keep_buckets_days: u32) -> Result<(u64, u64)> {
        self.check_clock()?;
        let longest = self.longest_reach();
        let change = async move |session: &mut Session| {
            let today = session.now.day();
            let records_before = today.plus(-longest.cast_signed());
            let records = store::records::purge(session.write(), session.group(), records_before).await?;
            let known_from = session.state().group.records_from;
            if records > 0 || known_from.is_some() {
                let from = known_from.map_or(records_before, |d| d.max(records_before));
                session.state_mut().group.records_from = Some(from);
            }
            let keep = keep_buckets_days.max(longest);
            let before = today.plus(-keep.cast_signed());
            let buckets = store::buckets::purge(session.write(), session.group(), before).await?;
            Ok((records, buckets))
        };
        background(Arc::clone(self).change_in_run(work.into(), change)).await
    }

    /// Removes what is known of when the service ran before any look-back. Returns how many starts that was.
    #[tracing::instrument(
        name = "service.accounting.purge.purge_service_runs",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn purge_service_runs(&self) -> Result<u64> {
        let today = self.clock.now().day();
        let before = today.plus(-self.longest_reach().cast_signed()).start();
        Ok(store::runs::purge(self.store.write(), before).await?)
    }

    /// How many days back the calculation of some group may look.
    fn longest_reach(&self) -> u32 {
        let reach =
            |group: &Arc<PublishedGroup>| group.facts.options.lookback_days + group.facts.options.decay_unit_days;
        self.published_groups().iter().map(reach).max().unwrap_or(0)
    }
}
