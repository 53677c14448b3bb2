//! `DELETE /connectors/{cluster}`: forgets a connector that is gone.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::ConnectorPath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConnectorDeletionQuery {
    /// Name of the resource group; needed if several groups have a cluster of the name.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub resource_group: Option<String>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// Forgets a connector that is gone. With the last connector of a group goes the shadow report of the group. A connector that still
/// runs comes back with its next round.
#[utoipa::path(
    delete, path = "/connectors/{cluster}", operation_id = "delete_connector", tag = "Connectors",
    params(ConnectorPath, ConnectorDeletionQuery),
    responses(
        (status = 204, description = "Forgotten."),
        (status = 404, description = "There is no such connector.", body = ProblemView, content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<ConnectorPath>,
    QueryParams(query): QueryParams<ConnectorDeletionQuery>,
) -> Result<StatusCode> {
    service.delete_connector(caller, path.cluster, query.resource_group, query.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
