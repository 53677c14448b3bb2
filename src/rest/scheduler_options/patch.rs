//! `PATCH /resource-groups/{rg}/scheduler-options`: changes a group's scheduler and options, key by key.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};

use super::view::{SchedulerOptions, SchedulerOptionsPatch};
use crate::rest::etag;
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Merges options key by key at every depth (RFC 7396); factors and ranks follow at once.
#[utoipa::path(
    patch, path = "/resource-groups/{rg}/scheduler-options", operation_id = "patch_scheduler_options", tag = "Scheduler options",
    params(GroupPath, ("If-Match" = Option<String>, Header, description = "The `ETag` that the change is based on.")),
    request_body = SchedulerOptionsPatch,
    responses(
        (status = 200, body = SchedulerOptions, headers(("ETag" = String, description = "For `If-Match` and `If-None-Match`."))),
        (status = 409, description = "The configuration has changed since `if_revision`.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json"),
        (status = 412, description = "The options have changed since that `ETag`.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SchedulerOptionsPatch>,
) -> Result<Response> {
    let if_match = etag::required_tag(&headers, || service.group(&caller, &path.rg).ok().map(|g| g.options_etag()))?;
    let patch = body.into_patch(&path.rg, if_match)?;
    let group = service.patch_scheduler_options(caller, path.rg, patch).await?;
    Ok(etag::with_etag(Json(SchedulerOptions::from(&group)).into_response(), &group.options_etag()))
}
