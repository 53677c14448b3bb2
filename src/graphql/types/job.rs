//! Jobs as GraphQL shows them.

use async_graphql::SimpleObject;

use super::JobRun;
use crate::graphql::scalars::DateTime;
use crate::service::jobs::JobStatus;

/// Something that the service does on its own, and on request.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct Job {
    pub name: &'static str,
    pub description: &'static str,
    /// The object of one run: `group`, a resource group, or `server`, all that belongs to none.
    pub scope: &'static str,
    /// The cron expression in UTC by which the job starts by itself: second, minute, hour, day of month, month, day of week. Null:
    /// the job runs only on request.
    pub schedule: Option<String>,
    /// The earliest time at which the job is due in a resource group that the key reaches, or for the server. A time that has passed: the job is due
    /// and has not started yet. Null: the job runs only on request, or there is no group.
    pub next_run_at: Option<DateTime>,
    /// The last run for each resource group, and for none.
    pub last_runs: Vec<JobRun>,
}

impl From<JobStatus> for Job {
    fn from(JobStatus { definition, next_run_at, last_runs }: JobStatus) -> Self {
        Self {
            name: definition.name,
            description: definition.description,
            scope: definition.scope.as_str(),
            schedule: definition.schedule,
            next_run_at: next_run_at.map(DateTime),
            last_runs: last_runs.into_iter().map(JobRun).collect(),
        }
    }
}
