//! The job `compact`: merges usage records of closed days without loss.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::GroupJob;
use crate::engine::leases::LeasedWork;
use crate::service::{Result, Service};

/// Merges usage records of closed days, without loss.
pub(super) struct CompactJob {
    /// Days for which usage records stay as runs wrote them.
    pub(super) raw_days: u32,
}

impl GroupJob for CompactJob {
    fn name(&self) -> &'static str {
        "compact"
    }

    fn description(&self) -> &'static str {
        "joins usage records of days that ended some days ago (the setting raw_days); no usage changes"
    }

    fn run(&self, service: Arc<Service>, work: LeasedWork) -> BoxFuture<'static, Result<Value>> {
        let raw_days = self.raw_days;
        async move {
            let done = service.compact(work, raw_days).await?;
            Ok(json!({"days": done.days, "records_saved": done.records_saved}))
        }
        .boxed()
    }
}
