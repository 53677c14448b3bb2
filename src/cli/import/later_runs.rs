//! A scheduler executes one run of a job at a time. A later run therefore ends an earlier one that was seen running and
//! whose own row with an end is missing (`sacct` omits it without `--duplicates`).

use std::collections::HashMap;

use super::api::ServerKernel;
use super::job::ImportedJob;
use super::rebase::TimeShift;
use crate::domain::ids::{KernelId, SessionId};
use crate::domain::time::Timestamp;

/// The running kernels of a group, by session.
#[derive(Default)]
pub(super) struct RunningBySession(HashMap<SessionId, Vec<(KernelId, Timestamp)>>);

impl RunningBySession {
    pub(super) fn new(kernels: impl IntoIterator<Item = ServerKernel>) -> Self {
        let mut running = Self::default();
        for ServerKernel { id, session, started_at, .. } in kernels {
            running.0.entry(session).or_default().extend(started_at.map(|start| (id, start)));
        }
        running
    }

    /// Notes a row. Returns the earlier runs of the same job and their ends: the time at which the job was queued
    /// again, if the row has it, otherwise the start of the row.
    pub(super) fn see(&mut self, job: &ImportedJob, shift: TimeShift) -> Vec<(KernelId, Timestamp)> {
        let Some(start) = job.started_at.filter(|_| !job.run_of.is_empty()) else { return Vec::new() };
        let runs = self.0.entry(job.session_id()).or_default();
        let earlier =
            |kernel: KernelId, since: Timestamp| since < start && job.kernel_of_run(shift.back(since)) == Some(kernel);
        let mut ended = Vec::new();
        runs.retain(|(kernel, since)| {
            let over = earlier(*kernel, *since);
            if over {
                let queued = job.submitted_at.filter(|queued| *since < *queued && *queued <= start);
                ended.push((*kernel, queued.unwrap_or(start)));
            }
            !over
        });
        if job.terminated_at.is_none() && !runs.iter().any(|(kernel, _)| *kernel == job.kernel_id()) {
            runs.push((job.kernel_id(), start));
        }
        if runs.is_empty() {
            self.0.remove(&job.session_id());
        }
        ended
    }
}
