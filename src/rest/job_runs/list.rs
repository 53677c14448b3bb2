//! `GET /job-runs`: runs of jobs, newest first.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::QueryParams;
use crate::rest::jobs::view::JobRunView;
use crate::rest::list::{List, ListCursor};
use crate::rest::problem::Result;
use crate::service::jobs::{JobControl, RunFilter};
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobRunQuery {
    /// Only runs of this job.
    pub job: Option<String>,
    /// Only runs for this resource group.
    pub resource_group: Option<String>,
    /// Only runs that have ended without success.
    #[serde(default)]
    #[param(default = false)]
    pub failed: bool,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Runs of jobs, newest first.
#[utoipa::path(
    get, path = "/job-runs", operation_id = "list_job_runs", tag = "Operations",
    params(JobRunQuery),
    responses(
        (status = 200, body = List<JobRunView>),
        (status = 404, description = "There is no such job.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    State(jobs): State<Arc<dyn JobControl>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<JobRunQuery>,
) -> Result<Json<List<JobRunView>>> {
    let cursor = ListCursor::new(Service::JOB_RUN_LIST, "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let (job, group) = (query.job.as_deref(), query.resource_group.as_deref());
    let filter = RunFilter { job, group, failed: query.failed };
    Ok(Json(cursor.answer(service.job_runs(&caller, &*jobs, filter, &window).await?)))
}
