//! `DELETE /resource-groups/{rg}/usage-histories/{source}`: removes a history with its rows.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use super::view::HistoryPath;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::ReasonQuery;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Removes a history with its rows, complete or not.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}/usage-histories/{source}", operation_id = "delete_usage_history", tag = "Usage",
    params(HistoryPath, ReasonQuery), responses((status = 204, description = "Removed."))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<HistoryPath>,
    QueryParams(query): QueryParams<ReasonQuery>,
) -> Result<StatusCode> {
    service.delete_history(caller, path.rg, path.source, query.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
