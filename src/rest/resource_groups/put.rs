//! `PUT /resource-groups/{rg}`: creates a group, or sets its scheduler and replaces its options.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};

use super::view::ResourceGroup;
use crate::rest::etag;
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::rest::scheduler_options::view::SchedulerOptionsPatch;
use crate::service::{Caller, Service};

/// Creates a group, or sets its scheduler and replaces its options, each if the body has it: an option that
/// `scheduler_opts` leaves out gets its default; without `scheduler_opts` they stay. If several clients
/// create one group at the same time, one is answered 201, and the others change the group and are answered 200.
#[utoipa::path(
    put, path = "/resource-groups/{rg}", operation_id = "put_resource_group", tag = "Resource groups",
    params(GroupPath, ("If-Match" = Option<String>, Header, description = "The `ETag` of the options that the change is based on.")),
    request_body = SchedulerOptionsPatch,
    responses(
        (status = 200, description = "Replaced.", body = ResourceGroup),
        (status = 201, description = "Created.", body = ResourceGroup),
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
) -> Result<(StatusCode, Json<ResourceGroup>)> {
    let if_match = etag::required_tag(&headers, || service.group(&caller, &path.rg).ok().map(|g| g.options_etag()))?;
    let patch = body.into_patch(&path.rg, if_match)?;
    let (group, is_new) = service.put_group(caller, path.rg, patch).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(group.into())))
}
