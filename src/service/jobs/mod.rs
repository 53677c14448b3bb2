//! Jobs as the interfaces show them: the list of jobs, their runs, and a run on request.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::input::page::{Page, PageWindow, id_page, id_window};
use super::{Caller, Error, Result, Service, VisibleGroup};
use crate::domain::time::{MICROS_PER_DAY, Timestamp};
use crate::store;

pub use crate::store::jobs::{JobRun, OpenRun, RunFilter};

/// The object of one run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobScope {
    /// One resource group; the job runs for each of them.
    Group,
    /// All that belongs to no group.
    Server,
}

impl JobScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Server => "server",
        }
    }
}

/// A job as the runner registers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDefinition {
    pub name: &'static str,
    pub description: &'static str,
    pub scope: JobScope,
    /// The cron expression in UTC by which the job starts by itself; `None`: it runs only on request.
    pub schedule: Option<String>,
}

/// A job with the runs that a caller may see.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatus {
    pub definition: JobDefinition,
    /// The earliest time at which the job is due in a group, or for the server; in the past if the job is due and has not
    /// started yet. `None`: the job runs only on request, there is no group, or the caller does not see its runs.
    pub next_run_at: Option<Timestamp>,
    /// The last run in each group, or for the server.
    pub last_runs: Vec<JobRun>,
}

/// The functions of the runner for the layers above it.
pub trait JobControl: Send + Sync {
    fn jobs(&self) -> Vec<JobDefinition>;

    /// The time at which a job is due in a group where its last run started at `last_start`, or for the server. `None`: it runs
    /// only on request.
    fn next_run_at(&self, job: &str, group: Option<&VisibleGroup>, last_start: Option<Timestamp>) -> Option<Timestamp>;

    /// Runs a job now, for one group or for all, or for the server, and waits for its end. `None`: the job is unknown.
    fn run_now(self: Arc<Self>, job: String, group: Option<String>) -> BoxFuture<'static, Option<Result<Vec<JobRun>>>>;
}

impl Service {
    /// The name in cursors of job runs.
    pub const JOB_RUN_LIST: &'static str = "job-runs";

    /// The runs that match `filter`, newest first. A key that is limited to groups sees only the runs for those groups, here
    /// and in the methods below.
    #[tracing::instrument(name = "service.jobs.job_runs", level = "debug", skip_all, err(level = "debug"))]
    pub async fn job_runs(
        &self,
        caller: &Caller,
        jobs: &dyn JobControl,
        filter: RunFilter<'_>,
        window: &PageWindow,
    ) -> Result<Page<JobRun>> {
        caller.require_reader()?;
        if let Some(group) = filter.group {
            caller.require_group(group)?;
        }
        if let Some(name) = filter.job.filter(|name| !jobs.jobs().iter().any(|known| known.name == *name)) {
            return Err(Error::unknown_job(name));
        }
        let found = store::jobs::page(
            &self.reads_for(caller.client()),
            caller.principal.groups.as_deref(),
            filter,
            &id_window(window)?,
        )
        .await?;
        Ok(id_page(Self::JOB_RUN_LIST, found, |r| r.id, window))
    }

    /// The runs with these ids that exist.
    #[tracing::instrument(name = "service.jobs.job_runs_by_id", level = "debug", skip_all, err(level = "debug"))]
    pub async fn job_runs_by_id(&self, caller: &Caller, ids: impl IntoIterator<Item = i64>) -> Result<Vec<JobRun>> {
        caller.require_reader()?;
        Ok(store::jobs::by_ids(&self.reads_for(caller.client()), caller.principal.groups.as_deref(), ids).await?)
    }

    /// All jobs, with their last runs and their next one.
    #[tracing::instrument(name = "service.jobs.jobs", level = "debug", skip_all, err(level = "debug"))]
    pub async fn jobs(&self, caller: &Caller, control: &dyn JobControl) -> Result<Vec<JobStatus>> {
        let runs = self.last_job_runs(caller).await?;
        let groups = self.groups(caller);
        let status = |definition: JobDefinition| {
            let last_runs: Vec<JobRun> = runs.iter().filter(|run| run.job == definition.name).cloned().collect();
            let next_run_at = |group: Option<&VisibleGroup>| {
                let name = group.map(|group| &*group.name);
                let last = last_runs.iter().find(|run| run.resource_group.as_deref() == name);
                control.next_run_at(definition.name, group, last.and_then(start_that_counts))
            };
            let next_run_at = match definition.scope {
                JobScope::Group => groups.iter().filter_map(|group| next_run_at(Some(group))).min(),
                JobScope::Server if caller.principal.groups.is_some() => None,
                JobScope::Server => next_run_at(None),
            };
            JobStatus { definition, next_run_at, last_runs }
        };
        Ok(control.jobs().into_iter().map(status).collect())
    }

    /// The last run of each job and group.
    #[tracing::instrument(name = "service.jobs.last_job_runs", level = "debug", skip_all, err(level = "debug"))]
    pub async fn last_job_runs(&self, caller: &Caller) -> Result<Vec<JobRun>> {
        caller.require_reader()?;
        Ok(store::jobs::last_runs(&self.reads_for(caller.client()), caller.principal.groups.as_deref()).await?)
    }

    /// Runs a job on request of a caller.
    #[tracing::instrument(name = "service.jobs.run_job", level = "debug", skip_all, fields(group = group.as_deref()), err(level = "debug"))]
    pub async fn run_job(
        &self,
        caller: &Caller,
        jobs: Arc<dyn JobControl>,
        job: String,
        group: Option<String>,
    ) -> Result<Vec<JobRun>> {
        caller.require_admin()?;
        match &group {
            Some(name) => drop(self.group(caller, name)?),
            None => caller.require_all_groups()?,
        }
        let unknown = Error::unknown_job(&job);
        let scope = jobs.jobs().into_iter().find(|known| known.name == job).map(|known| known.scope);
        if group.is_some() && scope == Some(JobScope::Server) {
            let said = format!("names a group, and the job `{job}` is one of the whole server");
            return Err(Error::about("/resource_group", "job_of_server", said));
        }
        jobs.run_now(job, group).await.ok_or(unknown)?
    }

    /// Opens the record of a run, and closes those that a dead process left open. The caller holds the job's lease.
    #[tracing::instrument(
        name = "service.jobs.job_started",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn job_started(&self, job: &str, group: Option<&str>, trigger: &str, holder: Uuid) -> Result<OpenRun> {
        let now = self.clock().now();
        let tx = self.store().begin().await?;
        store::jobs::abandon_open(&tx, job, group, now).await?;
        let run = store::jobs::start(&tx, job, group, trigger, holder, now).await?;
        tx.commit().await.map_err(store::StoreError::from)?;
        Ok(run)
    }

    /// Closes the record of a run with its counts, or with the reason of its failure.
    #[tracing::instrument(name = "service.jobs.job_finished", level = "debug", skip_all, err(level = "debug"))]
    pub async fn job_finished(&self, run: OpenRun, outcome: &std::result::Result<Value, JobFailure>) -> Result<()> {
        let (status, counts, error) = match outcome {
            Ok(counts) => ("succeeded", counts.clone(), None),
            Err(failure) => (failure.status, Value::Object(serde_json::Map::new()), Some(failure.detail.clone())),
        };
        Ok(store::jobs::finish(self.store().write(), run, status, &counts, error, self.clock().now()).await?)
    }

    /// One run by its number.
    #[tracing::instrument(name = "service.jobs.job_run", level = "debug", skip_all, err(level = "debug"))]
    pub async fn job_run(&self, id: i64) -> Result<Option<JobRun>> {
        Ok(store::jobs::find(self.store().read(), id).await?)
    }

    /// Removes records of runs that are older than `keep_days`.
    #[tracing::instrument(name = "service.jobs.purge_job_runs", level = "debug", skip_all, err(level = "debug"))]
    pub async fn purge_job_runs(&self, keep_days: u32) -> Result<u64> {
        let before = self.clock().now().plus_micros(-i64::from(keep_days) * MICROS_PER_DAY);
        Ok(store::jobs::purge_runs(self.store().write(), before).await?)
    }
}

/// The start of a run if it counts for the schedule. An abandoned run does not count, so that its job is still due.
pub fn start_that_counts(run: &JobRun) -> Option<Timestamp> {
    (run.status != "abandoned").then_some(run.started_at)
}

/// The reason why a run did not succeed.
#[derive(Clone, Debug)]
pub struct JobFailure {
    /// `failed` or `panicked`.
    pub status: &'static str,
    pub detail: String,
    /// For the log alone.
    pub cause: String,
    /// True if the database did not answer, or if another process has taken the run over: the next run does the rest.
    pub is_interruption: bool,
}
