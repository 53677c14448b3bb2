//! The job `divide`: stores the fairness of the day so far, and what every queue deserves.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{GroupJob, end_of_wait};
use crate::domain::time::Timestamp;
use crate::engine::leases::LeasedWork;
use crate::service::{Result, Service, VisibleGroup};

/// Stores the fairness of the day so far, and what every queue deserves as the day's division, at most once in
/// `slice_interval_seconds` of the group.
pub(super) struct DivideJob;

impl GroupJob for DivideJob {
    fn name(&self) -> &'static str {
        "divide"
    }

    fn description(&self) -> &'static str {
        "keeps how fair the day was, divides the capacity over the queues and keeps the day's last division"
    }

    fn held_until(&self, group: &VisibleGroup, last_start: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        Some(end_of_wait(last_start?, now, group.options.slice_interval_seconds.into()))
    }

    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>> {
        async move {
            // Fairness does not depend on queues, which may not be divisible.
            service.keep_fairness(work.clone()).await?;
            service.keep_division(work).await
        }
        .boxed()
    }
}
