//! `DELETE /resource-groups/{rg}`: removes a group with all its data.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::groups::GroupDeletion;
use crate::service::{Caller, Service};

/// How surely the group should go.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeletionQuery {
    /// The name of the group once more, where it has kernels or history.
    pub confirm: Option<String>,
    /// `true`: kernels that run do not keep it.
    #[serde(default)]
    #[param(required = false)]
    pub force: bool,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// Removes a group with all that belongs to it: agents, kernels, records, buckets, weights. One with kernels or history
/// has to be confirmed by its name, and one in which kernels run has to be forced too.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}", operation_id = "delete_resource_group", tag = "Resource groups",
    params(GroupPath, DeletionQuery),
    responses(
        (status = 204, description = "Removed."),
        (status = 409, description = "It has kernels or history, or kernels run; `counts` says how many.", body = ProblemView,
            content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:confirmation_needed", "title": "Conflict", "status": 409,
                "code": "confirmation_needed",
                "detail": "the resource group \"gpu-cluster\" has 2503 kernels, 15 of them running; to remove all of them, repeat with confirm=gpu-cluster",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11",
                "counts": {"kernels": 2503, "running_kernels": 15}
            }))
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<DeletionQuery>,
) -> Result<StatusCode> {
    let DeletionQuery { confirm, force, reason } = query;
    service.delete_group(caller, path.rg, GroupDeletion { confirm, force, reason }).await?;
    Ok(StatusCode::NO_CONTENT)
}
