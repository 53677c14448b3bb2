//! The job `rebuild`: makes buckets again from their usage records.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::GroupJob;
use crate::engine::leases::LeasedWork;
use crate::service::{Result, Service};

/// Makes buckets again from their usage records. It is needed only after the database was changed by hand.
pub(super) struct RebuildJob;

impl GroupJob for RebuildJob {
    fn name(&self) -> &'static str {
        "rebuild"
    }

    fn description(&self) -> &'static str {
        "folds all buckets again from the usage records, then recomputes factors and ranks"
    }

    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>> {
        async move { Ok(json!({"buckets_changed": service.rebuild(work).await?})) }.boxed()
    }
}
