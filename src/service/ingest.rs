//! Reports of kernels from callers that may report.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Caller, Result, Service};
use crate::domain::ids::KernelId;
use crate::domain::time::Timestamp;
use crate::engine::ingest::batch::{IngestResult, ReportDelivery, ReportSender};
use crate::engine::ingest::incoming::{IncomingReport, RefusedReport};
use crate::engine::ingest::inferred::RunningSnapshot;
use crate::engine::ingest::merging::DryRunKernels;
use crate::engine::work::run_to_completion;

impl Service {
    /// Takes one batch of checked reports in one transaction, together with what other requests deliver at the same
    /// time. Reports that contradict what is known are refused one by one; the others are kept.
    pub async fn ingest(
        self: &Arc<Self>,
        caller: &Caller,
        group: &str,
        batch: Vec<IncomingReport>,
    ) -> Result<Vec<RefusedReport>> {
        Ok(self.ingest_counted(caller, group, batch.into()).await?.refused)
    }

    /// [`Service::ingest`] with the number of unreadable rows. The answer says if anything changed.
    pub async fn ingest_counted(
        self: &Arc<Self>,
        caller: &Caller,
        group: &str,
        delivery: ReportDelivery,
    ) -> Result<IngestResult> {
        caller.require_reporter()?;
        self.group(caller, group)?;
        let sender = ReportSender { author: caller.author(), groups: caller.principal.groups.clone() };
        self.engine.take_reports(sender, group, delivery).await
    }

    /// The reports of `batch` that [`Service::ingest`] would refuse after the batches of `rehearsal`. Nothing is
    /// stored.
    pub async fn rehearse(
        &self,
        caller: &Caller,
        group: &str,
        rehearsal: &mut DryRunKernels,
        batch: Vec<IncomingReport>,
    ) -> Result<Vec<RefusedReport>> {
        caller.require_reporter()?;
        self.group(caller, group)?;
        self.engine.rehearse(caller.principal.groups.as_deref(), group, rehearsal, batch).await
    }

    /// Refuses a snapshot whose time is in the future or before that of an earlier snapshot.
    pub async fn check_snapshot(&self, caller: &Caller, group: &str, taken_at: Timestamp) -> Result<()> {
        caller.require_reporter()?;
        self.group(caller, group)?;
        self.engine.check_snapshot(group, taken_at).await
    }

    /// Ends the running kernels that are not in `present`, after the rows of the snapshot were taken. Returns them by
    /// id.
    pub async fn end_missing(
        self: &Arc<Self>,
        caller: Caller,
        group: &str,
        snapshot: RunningSnapshot,
        present: HashSet<KernelId>,
    ) -> Result<Vec<KernelId>> {
        caller.require_reporter()?;
        self.group(&caller, group)?;
        let engine = Arc::clone(&self.engine);
        run_to_completion(engine.end_missing(caller.author(), group.to_owned(), snapshot, present)).await
    }
}
