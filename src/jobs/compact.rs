//! The job `compact`: usage records of closed days are put together without loss.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{Job, JobSettings, elapsed};
use crate::domain::time::Timestamp;
use crate::service::{Result, Service, VisibleGroup, Work};

/// Looks for closed days so often, in seconds.
const EVERY: i64 = 3_600;

/// Puts usage records of closed days together, without loss.
pub(super) struct Compact {
    pub(super) settings: JobSettings,
}

impl Job for Compact {
    fn name(&self) -> &'static str {
        "compact"
    }

    fn description(&self) -> &'static str {
        "joins usage records of days that ended some days ago (the setting raw_days); no usage changes"
    }

    fn is_due(&self, _: &VisibleGroup, last: Option<Timestamp>, now: Timestamp) -> bool {
        elapsed(last, now, EVERY)
    }

    fn run(&self, service: Arc<Service>, work: Work) -> BoxFuture<'static, Result<Value>> {
        let raw_days = self.settings.raw_days;
        async move {
            let done = service.compact(work, raw_days).await?;
            Ok(json!({"days": done.days, "records_saved": done.records_saved}))
        }
        .boxed()
    }
}
