//! `POST /jobs/{name}/run`: runs a job now and returns after its end.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::{Extension, Json};

use super::view::{JobRunView, JobRuns, RunJob};
use crate::rest::extract::{PathParams, media_type, read, read_body};
use crate::rest::paths::JobPath;
use crate::rest::problem::Result;
use crate::service::jobs::JobControl;
use crate::service::{Caller, Service};

/// Runs a job now and waits for its end. The body may be left out.
#[utoipa::path(
    post, path = "/jobs/{name}/run", operation_id = "run_job", tag = "Operations",
    params(JobPath), request_body = Option<RunJob>, responses((status = 200, body = JobRuns))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    State(jobs): State<Arc<dyn JobControl>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<JobPath>,
    request: Request,
) -> Result<Json<JobRuns>> {
    let kind = media_type(request.headers(), &["application/json"]);
    let bytes = read_body(request).await?;
    let body = if bytes.is_empty() { RunJob::default() } else { kind.and_then(|_| Ok(read(&bytes)?))? };
    let runs = service.run_job(&caller, jobs, path.name, body.resource_group).await?;
    Ok(Json(JobRuns { items: runs.into_iter().map(JobRunView::from).collect() }))
}
