//! Jobs and their runs as REST shows them, and the body of a run by hand.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::time::Timestamp;
use crate::engine::upkeep::clock_trust::ClockOverride;
use crate::service::jobs::{JobRun, JobScope, JobStatus};

/// One run of a job over one resource group, or over what belongs to none.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = JobRun, example = json!({
    "id": 42, "job": "aggregate", "resource_group": "gpu-cluster", "trigger": "schedule", "status": "succeeded",
    "started_at": "2026-01-13T10:05:00Z", "ended_at": "2026-01-13T10:05:01Z",
    "counts": {"kernels": 12, "slices_created": 12, "slices_corrected": 0, "buckets_updated": 9, "gaps": 0}, "error": null
}))]
pub struct JobRunView {
    pub id: i64,
    pub job: String,
    pub resource_group: Option<String>,
    pub trigger: String,
    /// `running`, `succeeded`, `failed`, `panicked` or `abandoned`.
    pub status: String,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// The counts of the work done, by kind.
    #[schema(value_type = Object)]
    pub counts: Value,
    pub error: Option<String>,
}

impl From<JobRun> for JobRunView {
    fn from(run: JobRun) -> Self {
        let JobRun { id, job, resource_group, trigger, status, started_at, ended_at, counts, error } = run;
        Self { id, job, resource_group, trigger, status, started_at, ended_at, counts, error }
    }
}

/// A job, when it runs, and its last run in each group.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Job, example = json!({
    "name": "aggregate", "description": "records usage slices, sums them in buckets, recomputes factors and ranks",
    "scope": "group", "schedule": "* * * * * *", "next_run_at": "2026-01-13T10:10:00Z",
    "last_runs": [
        {
            "id": 42, "job": "aggregate", "resource_group": "gpu-cluster", "trigger": "schedule",
            "status": "succeeded", "started_at": "2026-01-13T10:05:00Z", "ended_at": "2026-01-13T10:05:01Z",
            "counts": {"kernels": 12, "slices_created": 12, "slices_corrected": 0, "buckets_updated": 9, "gaps": 0},
            "error": null
        }
    ]
}))]
pub struct JobView {
    pub name: &'static str,
    pub description: &'static str,
    /// The object of one run: a resource group, or all that belongs to none.
    pub scope: JobScope,
    /// The cron expression in UTC by which the job starts by itself: second, minute, hour, day of month, month, day of week. Null:
    /// the job runs only on request.
    pub schedule: Option<String>,
    /// The earliest time at which the job is due in a resource group that the key reaches, or for the server. A time that has passed: the job is due
    /// and has not started yet. Null: the job runs only on request, or there is no group.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_run_at: Option<Timestamp>,
    pub last_runs: Vec<JobRunView>,
}

impl From<JobStatus> for JobView {
    fn from(JobStatus { definition, next_run_at, last_runs }: JobStatus) -> Self {
        Self {
            name: definition.name,
            description: definition.description,
            scope: definition.scope,
            schedule: definition.schedule,
            next_run_at,
            last_runs: last_runs.into_iter().map(JobRunView::from).collect(),
        }
    }
}

/// Where a job should run.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"resource_group": "gpu-cluster"}))]
pub struct RunJob {
    /// Only this group; all of them by default. A job of the server takes none.
    pub resource_group: Option<String>,
}

/// The runs that a request caused; each says how it ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobRuns {
    pub items: Vec<JobRunView>,
}

/// The clock as an admin has said that it is right.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "trusted_at": "2026-01-13T10:05:00Z", "was_doubted": true, "reference": "2025-12-24T18:00:00Z"
}))]
pub struct TrustedClock {
    /// The reading of the clock.
    #[schema(value_type = String, format = DateTime)]
    pub trusted_at: Timestamp,
    /// True if jobs were paused.
    pub was_doubted: bool,
    /// The reading that was expected, if the clock was not trusted.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub reference: Option<Timestamp>,
}

impl From<ClockOverride> for TrustedClock {
    fn from(ClockOverride { trusted_at, doubt }: ClockOverride) -> Self {
        Self { trusted_at, was_doubted: doubt.is_some(), reference: doubt.map(|d| d.reference) }
    }
}
