//! The job `tidy`: removes what the server notes about itself, once it is past its retention.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::ServerJob;
use crate::service::{Result, Service};

/// Days for which records of job runs are kept.
const KEEP_RUNS_DAYS: u32 = 30;

/// Removes records of runs and starts of the server, and counts of ingests, past their retention.
pub(super) struct TidyJob {
    /// Days for which the counts of ingests stay in the audit log.
    pub(super) keep_audit_days: u32,
}

impl ServerJob for TidyJob {
    fn name(&self) -> &'static str {
        "tidy"
    }

    fn description(&self) -> &'static str {
        "removes records of job runs, earlier starts of the service that no look-back reaches, and counts of ingests past their retention"
    }

    fn run(&self, service: Arc<Service>) -> BoxFuture<'static, Result<Value>> {
        let keep_audit_days = self.keep_audit_days;
        async move {
            let runs = service.purge_job_runs(KEEP_RUNS_DAYS).await?;
            let starts = service.purge_service_runs().await?;
            let audit_entries = service.purge_ingest_audit(keep_audit_days).await?;
            Ok(json!({"job_runs": runs, "service_runs": starts, "audit_entries": audit_entries}))
        }
        .boxed()
    }
}
