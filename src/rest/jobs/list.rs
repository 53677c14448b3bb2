//! `GET /jobs`: all jobs by name, with their schedules and last runs.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::JobView;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::problem::Result;
use crate::service::input::page::CursorKey;
use crate::service::jobs::JobControl;
use crate::service::{Caller, Service};

/// All jobs by name, with their schedules and last runs.
#[utoipa::path(
    get, path = "/jobs", operation_id = "list_jobs", tag = "Operations",
    params(PageQuery), responses((status = 200, body = List<JobView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    State(jobs): State<Arc<dyn JobControl>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<JobView>>> {
    let cursor = ListCursor::new("jobs", "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let mut jobs: Vec<JobView> = service.jobs(&caller, &*jobs).await?.into_iter().map(JobView::from).collect();
    jobs.sort_by_key(|job| job.name);
    Ok(Json(cursor.cut(&jobs, |job| vec![CursorKey::Text(job.name.to_owned())], &window)))
}
