//! Runs of jobs as GraphQL shows them.

use async_graphql::{ID, Object};

use crate::graphql::global_id;
use crate::graphql::scalars::{DateTime, JsonString};
use crate::service::jobs;

/// One run of a job.
pub struct JobRun(pub jobs::JobRun);

impl JobRun {
    pub const KIND: &str = "JobRun";
}

#[Object(rename_fields = "snake_case")]
impl JobRun {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.0.id.to_string()])
    }

    async fn job(&self) -> &str {
        &self.0.job
    }

    async fn resource_group(&self) -> Option<&str> {
        self.0.resource_group.as_deref()
    }

    /// The trigger that started it.
    async fn trigger(&self) -> &str {
        &self.0.trigger
    }

    /// `running`, `succeeded`, `failed`, `panicked` or `abandoned`.
    async fn status(&self) -> &str {
        &self.0.status
    }

    async fn started_at(&self) -> DateTime {
        DateTime(self.0.started_at)
    }

    async fn ended_at(&self) -> Option<DateTime> {
        self.0.ended_at.map(DateTime)
    }

    /// The counts of its work, by name.
    async fn counts(&self) -> JsonString {
        JsonString(self.0.counts.clone())
    }

    async fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }
}
