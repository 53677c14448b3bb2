use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteQuery {
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// Removes a group with all that belongs to it: agents, kernels, records, buckets, weights.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}", operation_id = "delete_resource_group", tag = "Resource groups",
    params(GroupPath, DeleteQuery), responses((status = 204, description = "Removed."))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<DeleteQuery>,
) -> Result<StatusCode> {
    service.delete_group(caller, path.rg, query.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
