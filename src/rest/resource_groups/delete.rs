use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::{GroupPath, ReasonQuery};
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Removes a group with all that belongs to it: agents, kernels, records, buckets, weights.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}", operation_id = "delete_resource_group", tag = "Resource groups",
    params(GroupPath, ReasonQuery), responses((status = 204, description = "Removed."))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<ReasonQuery>,
) -> Result<StatusCode> {
    service.delete_group(caller, path.rg, query.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
