//! Jobs as the interfaces see them: what there is, what ran, run one now.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::audit::{id_below, id_page};
use super::page::{Page, Window};
use super::{Caller, Error, Result, Service};
use crate::store;

pub use crate::store::jobs::JobRun;

/// What the runner offers to the layers above it.
pub trait JobControl: Send + Sync {
    /// Name and description of every job.
    fn jobs(&self) -> Vec<(&'static str, &'static str)>;

    /// Runs a job now, for one group or for all, and waits for its end. `None`: there is no such job.
    fn run_now(self: Arc<Self>, job: String, group: Option<String>) -> BoxFuture<'static, Option<Result<Vec<JobRun>>>>;
}

impl Service {
    /// The name in cursors of job runs.
    pub const JOB_RUN_LIST: &'static str = "job-runs";

    /// Newest first.
    pub async fn job_runs(&self, caller: &Caller, job: Option<&str>, window: &Window) -> Result<Page<JobRun>> {
        caller.require_reader()?;
        let below = id_below(window)?;
        let (rows, total) = store::jobs::page(self.store().read(), job, below, u64::from(window.limit) + 1).await?;
        Ok(id_page(Self::JOB_RUN_LIST, rows, |r| r.id, window.limit, total, below.is_none()))
    }

    /// The last run of each job and group.
    pub async fn last_job_runs(&self, caller: &Caller) -> Result<Vec<JobRun>> {
        caller.require_reader()?;
        Ok(store::jobs::last_runs(self.store().read()).await?)
    }

    /// Runs a job at somebody's wish.
    pub async fn run_job(
        &self,
        caller: &Caller,
        jobs: Arc<dyn JobControl>,
        job: String,
        group: Option<String>,
    ) -> Result<Vec<JobRun>> {
        caller.require_admin()?;
        if let Some(name) = &group {
            self.group(name)?;
        }
        let unknown = Error::NotFound { code: "unknown_job", detail: format!("there is no job {job:?}") };
        jobs.run_now(job, group).await.ok_or(unknown)?
    }
}
