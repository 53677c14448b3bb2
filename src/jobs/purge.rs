//! The job `purge`: removes the data that no look-back reaches, and data past its retention.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{GroupJob, JobSettings, end_of_wait};
use crate::domain::time::{SECONDS_PER_DAY, Timestamp};
use crate::engine::accounting::purge::PurgeLimits;
use crate::engine::leases::LeasedWork;
use crate::service::{Result, Service, VisibleGroup};

/// Removes records that no look-back reaches and buckets past their retention (FAIR_SHARE §8).
pub(super) struct PurgeJob {
    pub(super) settings: JobSettings,
}

impl GroupJob for PurgeJob {
    fn name(&self) -> &'static str {
        "purge"
    }

    fn description(&self) -> &'static str {
        "removes usage records and ended kernels that no look-back reaches, and buckets, day totals, divisions, connectors, and days of fairness, of ranks and of shadow reports past their retention"
    }

    /// Gives an admin a day to check the result of an import, which may bring old usage into a group.
    fn held_until(&self, group: &VisibleGroup, _: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        Some(end_of_wait(group.purge_waits_from(), now, SECONDS_PER_DAY))
    }

    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>> {
        let JobSettings { keep_buckets_days: keep, keep_kernels_days, keep_history_days, .. } = self.settings;
        async move {
            let group = work.group.clone();
            let limits = service.purge_limits(keep, keep_kernels_days);
            let (records, buckets) = service.purge(work.clone(), keep).await?;
            let kernels = service.purge_kernels(work, keep_kernels_days).await?;
            let fairness = service.purge_fairness(&group, keep_history_days).await?;
            let shares = service.purge_share_history(&group, keep_history_days).await?;
            let (connectors, shadow_days) = service.purge_connectors(&group, keep_history_days).await?;
            let divisions = service.purge_divisions(&group, keep).await?;
            service.shrink_file().await;
            let PurgeLimits { records: records_before, kernels: kernels_before, usage: buckets_before } = limits;
            if records + kernels + buckets > 0 {
                tracing::info!(
                    group, records, %records_before, kernels, %kernels_before, buckets, %buckets_before,
                    "a purge removed what is past its retention"
                );
            }
            Ok(json!({
                "records": records, "kernels": kernels, "buckets": buckets, "divisions": divisions,
                "fairness_days": fairness, "share_days": shares, "shadow_days": shadow_days, "connectors": connectors,
                "records_before": records_before, "kernels_before": kernels_before, "buckets_before": buckets_before,
            }))
        }
        .boxed()
    }
}
