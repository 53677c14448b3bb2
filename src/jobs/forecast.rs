//! The job `forecast`: says when each waiting workload starts.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::GroupJob;
use crate::engine::leases::LeasedWork;
use crate::service::{Result, Service};

/// Makes and stores the forecasts of the group, and notes which workloads with a forecast have started.
pub(super) struct ForecastJob;

impl GroupJob for ForecastJob {
    fn name(&self) -> &'static str {
        "forecast"
    }

    fn description(&self) -> &'static str {
        "says when each waiting workload starts, and finds out how good earlier forecasts were"
    }

    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>> {
        async move { service.make_forecasts(work).await }.boxed()
    }
}
