//! Removes rows that no calculation can reach any more: records, old buckets, and the times at which the service ran.

use std::sync::Arc;

use crate::domain::time::{Day, Timestamp};
use crate::engine::FairShareEngine;
use crate::engine::error::Result;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::leases::LeasedWork;
use crate::engine::work::run_in_background;
use crate::store::retention::STEP_ROWS;
use crate::store::{self, buckets, day_totals, records, run_times, slice_kinds};

/// The number of days for which usage is kept, if the settings name none.
pub const KEEP_BUCKETS_DAYS: u32 = 1_100;

/// The number of days for which ended kernels are kept beyond every look-back.
const SPARE_DAYS: u32 = 7;

/// The days before which a purge removes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PurgeLimits {
    /// Usage records, which no look-back reaches any more.
    pub records: Day,
    /// Kernels that ended before this day.
    pub kernels: Day,
    /// Buckets and day totals.
    pub usage: Day,
}

/// The rows of a group that are past their retention.
#[derive(Clone, Copy)]
enum ExpiredRows {
    Records(Day),
    /// Kinds of records, if all records of a kind are purged.
    Kinds(Day),
    RunTimes(Day),
    /// Buckets and day totals.
    Days(Day),
}

impl ExpiredRows {
    /// Removes about [`STEP_ROWS`] rows at most. Returns their number, and true if some are left.
    async fn remove_some(self, session: &mut GroupTransaction) -> Result<(u64, bool)> {
        let (db, key) = (session.write(), session.key());
        let removed = match self {
            Self::Records(before) => records::remove(db, key, before, STEP_ROWS).await?,
            Self::Kinds(before) => slice_kinds::purge(db, key, before, STEP_ROWS).await?,
            Self::RunTimes(before) => run_times::purge(db, key, before, STEP_ROWS).await?,
            Self::Days(before) => return remove_days(session, before).await,
        };
        Ok((removed, removed == STEP_ROWS))
    }
}

/// Removes buckets and day totals of the first days before `before`. It removes whole days, so that the tiers agree
/// after each step.
async fn remove_days(session: &mut GroupTransaction, before: Day) -> Result<(u64, bool)> {
    let (db, group, key) = (session.write(), session.group(), session.key());
    let longest = buckets::longest_bucket_days(db, group).await?.cast_signed();
    let ends = [
        buckets::nth_day(db, group, before, STEP_ROWS).await?.map(|start| start.plus(longest)),
        day_totals::nth_day(db, key, before, STEP_ROWS).await?.map(|day| day.plus(1)),
    ];
    let until = ends.into_iter().flatten().fold(before, Day::min);
    let removed = buckets::purge(db, group, until).await?;
    if removed + day_totals::purge(db, key, until).await? > 0 {
        session.state_mut().removed_days_before(until);
    }
    Ok((removed, until < before))
}

impl FairShareEngine {
    /// Removes records that no look-back can reach any more, and buckets and day totals of days before
    /// `keep_buckets_days`.
    #[tracing::instrument(name = "engine.accounting.purge.purge", level = "debug", skip_all, err(level = "debug"))]
    pub async fn purge(self: &Arc<Self>, work: impl Into<LeasedWork>, keep_buckets_days: u32) -> Result<(u64, u64)> {
        self.check_clock()?;
        let work = work.into();
        let PurgeLimits { records: before, usage: kept_from, .. } = self.purge_limits(keep_buckets_days, 0);
        let change = async move |session: &mut GroupTransaction| {
            let known_from = session.state().group.records_from;
            let records = records::count(session.read(), session.key(), known_from, before).await?;
            let from = match known_from {
                Some(day) => Some(day.max(before)),
                None => (records > 0).then_some(before),
            };
            if let Some(from) = from {
                session.state_mut().purged_before(from);
            }
            Ok((records, from))
        };
        let (records, from) = run_in_background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
        if let Some(from) = from {
            self.remove_in_steps(&work, ExpiredRows::Records(from)).await?;
            self.remove_in_steps(&work, ExpiredRows::Kinds(from)).await?;
        }
        self.remove_in_steps(&work, ExpiredRows::RunTimes(before)).await?;
        let buckets = self.remove_in_steps(&work, ExpiredRows::Days(kept_from)).await?;
        if let Err(error) = self.store.drop_purged_days(before).await {
            // Usually a reader holds the table. The next purge tries again.
            tracing::info!(%error, "partitions of purged days stay for now");
        }
        Ok((records, buckets))
    }

    /// Removes rows of a group, in steps so that no other writer waits for long. Returns their number.
    async fn remove_in_steps(self: &Arc<Self>, work: &LeasedWork, past: ExpiredRows) -> Result<u64> {
        let mut removed = 0;
        loop {
            let change = async move |session: &mut GroupTransaction| past.remove_some(session).await;
            let (step, more) = run_in_background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
            removed += step;
            if !more {
                return Ok(removed);
            }
        }
    }

    /// Removes kernels of a group that ended `keep_days` ago, except those whose records a look-back may still reach. 0
    /// stands for the longest look-back and a week more. Returns their number.
    #[tracing::instrument(
        name = "engine.accounting.purge.purge_kernels",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn purge_kernels(self: &Arc<Self>, work: impl Into<LeasedWork>, keep_days: u32) -> Result<u64> {
        self.check_clock()?;
        let work = work.into();
        let keep = self.keep_kernels_days(keep_days);
        let mut removed = 0;
        let mut after = None;
        loop {
            let change = async move |session: &mut GroupTransaction| {
                let day = session.now.day().back(keep);
                // A kernel stays as long as it has records.
                let purged = session.state().group.records_from;
                if purged.is_none_or(|from| from < day)
                    && records::count(session.read(), session.key(), purged, day).await? > 0
                {
                    return Ok(Vec::new());
                }
                let before = day.start();
                let ended =
                    store::kernels::ended_before(session.read(), session.key(), before, after, STEP_ROWS).await?;
                if !ended.is_empty() {
                    store::kernels::remove(session.write(), &ended).await?;
                    let group = &mut session.state_mut().group;
                    group.kernels_from = group.kernels_from.max(Some(before));
                }
                Ok(ended)
            };
            let ended = run_in_background(Arc::clone(self).change_in_run(work.clone(), change)).await?;
            removed += ended.len() as u64;
            after = ended.last().copied();
            if (ended.len() as u64) < STEP_ROWS {
                return Ok(removed);
            }
        }
    }

    /// Removes the times at which the service ran before every look-back. Returns the number of starts that were
    /// removed.
    #[tracing::instrument(
        name = "engine.accounting.purge.purge_service_runs",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn purge_service_runs(&self) -> Result<u64> {
        let today = self.clock.now().day();
        let before = today.back(self.longest_look_back()).start();
        Ok(store::runs::purge(self.store.write(), before).await?)
    }

    /// The number of days for which ended kernels are kept: at least `keep_days`; 0 stands for the longest look-back
    /// and a week more.
    fn keep_kernels_days(&self, keep_days: u32) -> u32 {
        let reach_days = self.longest_look_back();
        if keep_days == 0 { reach_days + SPARE_DAYS } else { keep_days.max(reach_days) }
    }

    /// The days before which a purge removes rows.
    pub fn purge_limits(&self, keep_buckets_days: u32, keep_kernels_days: u32) -> PurgeLimits {
        let (today, reach_days) = (self.clock.now().day(), self.longest_look_back());
        PurgeLimits {
            records: today.back(reach_days),
            kernels: today.back(self.keep_kernels_days(keep_kernels_days)),
            usage: today.back(keep_buckets_days.max(reach_days)),
        }
    }

    /// The first day whose buckets and day totals are kept at `now`.
    pub(crate) fn usage_kept_from(&self, now: Timestamp) -> Day {
        now.day().back(self.keep_buckets_days().max(self.longest_look_back()))
    }

    /// The largest number of days that the calculation of any group looks back.
    pub(crate) fn longest_look_back(&self) -> u32 {
        self.longest_look_back_except("")
    }

    /// [`FairShareEngine::longest_look_back`] without one group. No group has an empty name.
    pub(super) fn longest_look_back_except(&self, group: &str) -> u32 {
        let reach_days =
            |group: &Arc<GroupSnapshot>| group.facts.options.lookback_days + group.facts.options.decay_unit_days;
        let groups = self.published_groups();
        groups.iter().filter(|other| *other.facts.name != *group).map(reach_days).max().unwrap_or(0)
    }
}
