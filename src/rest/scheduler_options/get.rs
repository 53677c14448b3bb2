//! `GET /resource-groups/{rg}/scheduler-options`: scheduler and options of a group.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};

use super::view::SchedulerOptions;
use crate::rest::etag::{SeenTags, fresh_or};
use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Scheduler and options of a resource group.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/scheduler-options", operation_id = "get_scheduler_options", tag = "Scheduler options",
    params(GroupPath, ("If-None-Match" = Option<String>, Header, description = "An `ETag` seen before.")),
    responses(
        (status = 200, body = SchedulerOptions, headers(("ETag" = String, description = "For `If-Match` and `If-None-Match`."))),
        (status = 304, description = "Unchanged since that `ETag`.")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    seen: SeenTags,
) -> Result<Response> {
    let group = service.group(&caller, &path.rg)?;
    Ok(fresh_or(&seen, &group.options_etag(), || Json(SchedulerOptions::from(&group)).into_response()))
}
