//! Forecasts of groups as they are: when each waiting workload starts, and what would help it (CYCLE §8).
//!
//! A job makes the forecasts of a group once a minute, and stores them in one row, so that all servers show the same ones. Each
//! server keeps the newest in memory. A workload's first forecast is kept until its start, by which the job finds out how good
//! forecasts are.
//!
//! - `live_input` makes the input of the engine from a snapshot, its kernels and the workloads that have ended.
//! - `group_forecasts` has the forecasts of a group, and their stored form.
//! - `memory` keeps them, and the past of each group.
//! - `outcomes` finds out when workloads with a forecast have started, and `quality` compares that with the forecasts.
//! - `helps` tries changes of one workload.
//! - `answer` is what interfaces show.

pub mod answer;
pub mod group_forecasts;
mod helps;
mod live_input;
pub mod memory;
mod outcomes;
pub mod quality;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use self::answer::ForecastSummary;
use self::group_forecasts::GroupForecasts;
use self::live_input::{ForecastBase, draws_for};
use self::memory::KnownPast;
use self::outcomes::OutcomeChanges;
use self::quality::{ForecastQuality, MAX_STARTS};
use super::reported_workloads::{assessed_workloads, queue_of};
use super::{Caller, Error, Result, Service};
use crate::domain::forecast::StartForecast;
use crate::domain::ids::GroupKey;
use crate::domain::time::{MICROS_PER_DAY, Timestamp};
use crate::domain::workloads::AssessedWorkloads;
use crate::engine::leases::LeasedWork;
use crate::engine::work::{run_blocking, run_in_background};
use crate::service::visible_group::VisibleGroup;
use crate::store;

/// The time for which ended workloads and outcomes count, in microseconds: four weeks.
const PAST_MICROS: i64 = 28 * MICROS_PER_DAY;
/// The number of ended kernels that count, those that were reported last.
const MAX_PAST_KERNELS: u64 = 50_000;

impl Service {
    /// Makes the forecasts of a group and stores them, with what became of earlier ones. Returns counts.
    #[tracing::instrument(name = "service.forecasts.make_forecasts", level = "debug", skip_all, err(level = "debug"))]
    pub async fn make_forecasts(self: &Arc<Self>, work: impl Into<LeasedWork>) -> Result<Value> {
        self.check_clock()?;
        let (service, work) = (Arc::clone(self), work.into());
        let group = self.group(&Caller::job(), &work.group)?;
        // A forecast takes seconds in a large group, which the threads of requests must not lose.
        run_in_background(async move {
            let kernels = service.live_kernels(group.published()).await?;
            let now = service.clock().now();
            let assessed = assessed_workloads(group.published(), &kernels);
            let waits = assessed.workloads.iter().any(|workload| workload.counts().pending > 0);
            let past = if waits { service.known_past(&group, now).await? } else { Arc::new(KnownPast::nothing(now)) };
            let mut made = service.forecasts_of(&group, &assessed, &past, now)?;
            let changes = service.find_outcomes(group.key, &assessed, &made).await?;
            let counts = json!({"workloads": made.starts.len(), "started": changes.started.len()});
            let newest = service.newest_forecasts(&group).await?;
            let had_none = newest.as_ref().is_some_and(|newest| newest.starts.is_empty());
            if made.starts.is_empty() && changes.is_empty() && had_none {
                return Ok(counts);
            }
            let outcomes = store::forecasts::load_outcomes(service.store().read(), group.key, MAX_STARTS).await?;
            made.quality = ForecastQuality::of(&changes.last_outcomes(outcomes));
            service.store_forecasts(&work, group.key, &made, &changes).await?;
            service.forecasts.keep(group.key, Arc::new(made), now);
            Ok(counts)
        })
        .await
    }

    async fn store_forecasts(
        &self,
        work: &LeasedWork,
        group: GroupKey,
        made: &GroupForecasts,
        changes: &OutcomeChanges,
    ) -> Result<()> {
        let document = made.to_document()?;
        let tx = self.store().begin().await?;
        // If the group is deleted at the same time, either the deletion finds these rows, or this write does not find the group.
        if !store::groups::prevent_deletion(&tx, &work.group).await? {
            return Err(Error::unknown_group(&work.group));
        }
        let started: Vec<_> = changes.started.iter().map(|(forecast, at)| (forecast, *at)).collect();
        store::forecasts::note_starts(&tx, group, &started).await?;
        store::forecasts::forget(&tx, group, &changes.gone.iter().collect::<Vec<_>>()).await?;
        store::forecasts::add_first(&tx, group, &changes.first).await?;
        store::forecasts::purge(&tx, group, made.as_of.plus_micros(-PAST_MICROS)).await?;
        store::forecasts::save(&tx, group, made.as_of, document).await?;
        work.check_fence(&tx).await?;
        tx.commit().await.map_err(store::StoreError::from)?;
        Ok(())
    }

    fn forecasts_of(
        &self,
        group: &VisibleGroup,
        assessed: &AssessedWorkloads,
        past: &KnownPast,
        now: Timestamp,
    ) -> Result<GroupForecasts> {
        let base = ForecastBase { service: self, group, assessed, past, now };
        let mut starts: BTreeMap<Arc<str>, StartForecast> =
            base.unfit().map(|(workload, start)| (Arc::clone(&workload.id), start)).collect();
        let ordered = base.order()?;
        let draws = draws_for(ordered.workloads.len());
        if !ordered.workloads.is_empty() {
            let found = base.input(&ordered).forecast_starts(base.seed(), draws);
            let ids = ordered.workloads.iter().map(|at| Arc::clone(&assessed.workloads[*at].id));
            starts.extend(ids.zip(found));
        }
        Ok(GroupForecasts { as_of: now, draws, quality: ForecastQuality::default(), starts })
    }

    /// The workloads of the group that have ended in the last weeks.
    async fn known_past(&self, group: &VisibleGroup, now: Timestamp) -> Result<Arc<KnownPast>> {
        if let Some(known) = self.forecasts.past(group.key, now) {
            return Ok(known);
        }
        let since = now.plus_micros(-PAST_MICROS);
        let members = store::workloads::last_ended(self.store().read(), group.key, since, MAX_PAST_KERNELS).await?;
        let past = run_blocking(|| Arc::new(KnownPast::of(members, now, |of| queue_of(group.facts(), of))));
        self.forecasts.keep_past(group.key, Arc::clone(&past));
        Ok(past)
    }

    /// The newest forecasts of the group that may be shown; `None`: there are none.
    pub(in crate::service) async fn newest_forecasts(
        &self,
        group: &VisibleGroup,
    ) -> Result<Option<Arc<GroupForecasts>>> {
        let now = self.clock().now();
        if self.forecasts.is_to_be_read(group.key, now) {
            self.read_forecasts(group.key, now).await?;
        }
        Ok(self.forecasts.newest(group.key, now))
    }

    /// Reads the stored forecasts of a group.
    async fn read_forecasts(&self, group: GroupKey, now: Timestamp) -> Result<()> {
        if let Some((as_of, document)) = store::forecasts::find(self.store().read(), group).await? {
            let read = run_blocking(|| GroupForecasts::of_document(as_of, &document))?;
            self.forecasts.keep(group, Arc::new(read), now);
        }
        Ok(())
    }

    /// Reads the newest forecasts in the background, if those in memory are too old. A sequence does not wait for them.
    pub fn read_forecasts_soon(self: &Arc<Self>, group: &VisibleGroup) {
        let (service, group, now) = (Arc::clone(self), group.key, self.clock().now());
        if !self.forecasts.is_to_be_read(group, now) {
            return;
        }
        tokio::spawn(async move {
            if let Err(error) = service.read_forecasts(group, now).await {
                tracing::debug!(%error, "forecasts not read");
            }
        });
    }

    /// The forecasts of a group as a whole, and how good they were. It names no owner, so every key that reaches the group may
    /// see it.
    pub async fn forecast_summary(&self, caller: &Caller, group: &str) -> Result<ForecastSummary> {
        let group = self.group(caller, group)?;
        Ok(ForecastSummary::of(self.newest_forecasts(&group).await?.as_deref()))
    }

    /// How good the newest forecasts are that this process knows; `None`: it knows none.
    pub fn forecast_quality(&self, group: &VisibleGroup) -> Option<ForecastQuality> {
        Some(self.forecasts.newest(group.key, self.clock().now())?.quality)
    }

    /// Frees forecasts that are too old.
    pub fn forget_forecasts(&self) {
        self.forecasts.forget(self.clock().now());
    }
}
