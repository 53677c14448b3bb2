//! The job `aggregate`: records usage, from which factors and ranks follow.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{GroupJob, end_of_wait};
use crate::domain::time::Timestamp;
use crate::engine::leases::LeasedWork;
use crate::service::{Result, Service, VisibleGroup};

/// Records usage and recomputes factors and ranks, at most once in `slice_interval_seconds` of the group.
pub(super) struct AggregateJob;

impl GroupJob for AggregateJob {
    fn name(&self) -> &'static str {
        "aggregate"
    }

    fn description(&self) -> &'static str {
        "records usage slices, sums them in buckets, recomputes factors and ranks"
    }

    fn held_until(&self, group: &VisibleGroup, last_start: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        Some(end_of_wait(last_start?, now, group.options.slice_interval_seconds.into()))
    }

    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>> {
        async move { Ok(service.aggregate(work).await?.to_json()) }.boxed()
    }
}
