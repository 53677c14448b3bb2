//! The batch side: slices, gaps, buckets, factors (§3 to §7), rebuilding and purging. Every run is
//! one transaction per resource group and can be repeated at any time.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::ahead;
use super::background::background;
use super::folding::rebuild_buckets;
use super::inferred::time_out;
use super::pass::{Aggregated, Pass};
use super::session::Session;
use super::{Caller, PublishedGroup, Result, Service, Work, detached};
use crate::domain::capacity::CapacitySource;
use crate::domain::slots::Amounts;
use crate::domain::time::Day;
use crate::store;

impl Service {
    /// Records usage up to now and recomputes everybody's factor and rank.
    pub async fn aggregate(self: &Arc<Self>, work: impl Into<Work>) -> Result<Aggregated> {
        self.check_clock()?;
        let (service, work) = (Arc::clone(self), work.into());
        background(async move {
            let mut session = Session::for_run(&service, &work).await?;
            ahead::come_back(&mut session).await?;
            let mut pass = Pass::new(&session);
            session.observe_capacity().await?;
            session.learn_people().await?;
            time_out(&mut session).await?;
            pass.scan(&mut session).await?;
            let done = pass.book(&mut session).await?;
            session.recompute_histories().await?;
            session.commit().await?;
            Ok(done)
        })
        .await
    }

    /// Folds the group's buckets again from its records. Returns how many buckets differed.
    pub async fn rebuild(self: &Arc<Self>, work: impl Into<Work>) -> Result<u64> {
        self.check_clock()?;
        let (service, work) = (Arc::clone(self), work.into());
        background(async move {
            let mut session = Session::for_run(&service, &work).await?;
            let (tx, state) = session.parts();
            let changed = rebuild_buckets(tx, state).await?;
            session.recompute_histories().await?;
            session.commit().await?;
            Ok(changed)
        })
        .await
    }

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

    /// Brings dated capacities of a back-fill (§5). What the service observed itself stands. Returns
    /// how many days that changed.
    pub async fn give_capacities(
        self: &Arc<Self>,
        caller: Caller,
        group: &str,
        mut days: BTreeMap<Day, Amounts>,
    ) -> Result<u64> {
        caller.require_admin()?;
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let calendar = session.state().ledger.calendar();
            days.retain(|day, capacity| {
                calendar.get(*day).is_none_or(|known| match known.source {
                    CapacitySource::Observed => false,
                    CapacitySource::Given => *known.capacity != *capacity,
                    CapacitySource::Nearest => true,
                })
            });
            let Some(first) = days.keys().next() else { return Ok(0) };
            session.load_buckets_of(*first).await?;
            let count = days.len() as u64;
            session.state_mut().ledger.give_capacities(days);
            session.recompute_histories().await?;
            let change = super::audit::Change {
                caller: &caller,
                action: "capacities.give",
                target: group.clone(),
                before: None,
                after: Some(json!({"days": count})),
                reason: None,
            };
            session.audit(change).await?;
            session.commit().await?;
            Ok(count)
        })
        .await
    }
}
