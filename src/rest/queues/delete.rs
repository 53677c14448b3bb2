//! `DELETE /resource-groups/{rg}/queues/{queue}`: removes a queue that has no children.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use super::view::RemovalQuery;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::QueuePath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::input::terms::WriteTerms;
use crate::service::{Caller, Service};

/// Removes a queue that has no children; the division follows at once.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}/queues/{queue}", operation_id = "delete_queue", tag = "Queues",
    params(QueuePath, RemovalQuery),
    responses(
        (status = 204, description = "Removed."),
        (status = 409, description = "The queue has children, or the configuration has changed since `if_revision`.", body = ProblemView, content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<QueuePath>,
    QueryParams(query): QueryParams<RemovalQuery>,
) -> Result<StatusCode> {
    let terms = WriteTerms { reason: query.reason, if_revision: query.if_revision };
    service.delete_queue(caller, path.rg, path.queue, terms).await?;
    Ok(StatusCode::NO_CONTENT)
}
