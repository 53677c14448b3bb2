use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::{QueuePath, ReasonQuery};
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

/// Removes a queue that has no children; the division follows at once.
#[utoipa::path(
    delete, path = "/resource-groups/{rg}/queues/{queue}", operation_id = "delete_queue", tag = "Queues",
    params(QueuePath, ReasonQuery),
    responses(
        (status = 204, description = "Removed."),
        (status = 409, description = "The queue has children.", body = ProblemView, content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<QueuePath>,
    QueryParams(query): QueryParams<ReasonQuery>,
) -> Result<StatusCode> {
    service.delete_queue(caller, path.rg, path.queue, query.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
