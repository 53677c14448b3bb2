//! Removes what no calculation can reach any more: records, old buckets, and when the service ran.

use std::sync::Arc;

use crate::domain::time::Day;
use crate::service::group::published::PublishedGroup;
use crate::service::group::session::Session;
use crate::service::work::background;
use crate::service::{Result, Service, Work};
use crate::store;

/// Records that are removed at once.
const STEP: u64 = 20_000;
/// Days for which ended kernels are kept beyond every look-back.
const SPARE_DAYS: u32 = 7;
/// Pages of an `SQLite` file that are given back at once. So many hold the records of a step and more.
const PAGES: u32 = 2_000;

impl Service {
    /// Removes records that no look-back can reach any more, and buckets and day totals of the days before `keep_buckets_days`.
    #[tracing::instrument(name = "service.accounting.purge.purge", level = "debug", skip_all, err(level = "debug"))]
    pub async fn purge(self: &Arc<Self>, work: impl Into<Work>, keep_buckets_days: u32) -> Result<(u64, u64)> {
        self.check_clock()?;
        let work = work.into();
        let (today, longest) = (self.clock.now().day(), self.longest_reach());
        let before = today.back(longest);
        let change = async move |session: &mut Session| {
            let known_from = session.state().group.records_from;
            let records = store::records::count(session.read(), session.key(), known_from, before).await?;
            if records > 0 || known_from.is_some() {
                let from = known_from.map_or(before, |day| day.max(before));
                store::slice_kinds::purge(session.write(), session.key(), from).await?;
                session.state_mut().purged_before(from);
            }
            store::run_times::purge(session.write(), session.key(), before).await?;
            let kept_from = today.back(keep_buckets_days.max(longest));
            let buckets = store::buckets::purge(session.write(), session.group(), kept_from).await?;
            store::day_totals::purge(session.write(), session.key(), kept_from).await?;
            session.state_mut().day_domains.forget_before(kept_from);
            Ok((records, buckets))
        };
        let purged = background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
        self.remove_purged_records(work, before).await?;
        Ok(purged)
    }

    /// Removes from the database what a group has purged, in steps that keep no other writer waiting for long.
    async fn remove_purged_records(self: &Arc<Self>, work: Work, before: Day) -> Result<()> {
        loop {
            let change = async |session: &mut Session| {
                let Some(from) = session.state().group.records_from else { return Ok(0) };
                Ok(store::records::remove(session.write(), session.key(), from, STEP).await?)
            };
            let removed = background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
            self.store.give_back_space(PAGES).await?;
            if removed < STEP {
                break;
            }
        }
        if let Err(error) = self.store.drop_purged_days(before).await {
            // A reader holds the table, mostly. The next purge tries again.
            tracing::info!(%error, "partitions of purged days stay for now");
        }
        Ok(())
    }

    /// Removes kernels of a group that ended `keep_days` ago, but none whose records some look-back may still reach; 0: the
    /// longest of these and a week more. Returns how many.
    #[tracing::instrument(
        name = "service.accounting.purge.purge_kernels",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn purge_kernels(self: &Arc<Self>, work: impl Into<Work>, keep_days: u32) -> Result<u64> {
        self.check_clock()?;
        let work = work.into();
        let reach = self.longest_reach();
        let keep = if keep_days == 0 { reach + SPARE_DAYS } else { keep_days.max(reach) };
        let mut removed = 0;
        let mut after = None;
        loop {
            let change = async move |session: &mut Session| {
                let day = session.now.day().back(keep);
                // A kernel stays as long as it has records.
                let purged = session.state().group.records_from;
                if purged.is_none_or(|from| from < day)
                    && store::records::count(session.read(), session.key(), purged, day).await? > 0
                {
                    return Ok(Vec::new());
                }
                let before = day.start();
                let ended = store::kernels::ended_before(session.read(), session.key(), before, after, STEP).await?;
                if !ended.is_empty() {
                    store::kernels::remove(session.write(), &ended).await?;
                    let group = &mut session.state_mut().group;
                    group.kernels_from = group.kernels_from.max(Some(before));
                }
                Ok(ended)
            };
            let ended = background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
            removed += ended.len() as u64;
            after = ended.last().copied();
            self.store.give_back_space(PAGES).await?;
            if (ended.len() as u64) < STEP {
                return Ok(removed);
            }
        }
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
        let before = today.back(self.longest_reach()).start();
        Ok(store::runs::purge(self.store.write(), before).await?)
    }

    /// How many days back the calculation of some group may look.
    pub(super) fn longest_reach(&self) -> u32 {
        let reach =
            |group: &Arc<PublishedGroup>| group.facts.options.lookback_days + group.facts.options.decay_unit_days;
        self.published_groups().iter().map(reach).max().unwrap_or(0)
    }
}
