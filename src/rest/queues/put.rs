//! `PUT /resource-groups/{rg}/queues/{queue}`: creates or replaces a queue.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::view::{QueueBody, QueueWritten, RevisionQuery};
use crate::rest::extract::{JsonBody, PathParams, QueryParams};
use crate::rest::paths::{QueuePath, same_as_path};
use crate::rest::problem::{ProblemView, Result};
use crate::service::input::terms::WriteTerms;
use crate::service::{Caller, Service};

/// Creates or replaces a queue: what the body leaves out gets its default. The division follows at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/queues/{queue}", operation_id = "put_queue", tag = "Queues",
    params(QueuePath, RevisionQuery), request_body = QueueBody,
    responses(
        (status = 200, description = "Replaced.", body = QueueWritten),
        (status = 201, description = "Created.", body = QueueWritten),
        (status = 409, description = "The configuration has changed since `if_revision`.", body = ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<QueuePath>,
    QueryParams(query): QueryParams<RevisionQuery>,
    JsonBody(QueueBody { value: mut queue, reason }): JsonBody<QueueBody>,
) -> Result<(StatusCode, Json<QueueWritten>)> {
    same_as_path("/name", Some(&*queue.name).filter(|name| !name.is_empty()), &path.queue)?;
    queue.name.clone_from(&path.queue);
    let changed =
        service.put_queue(caller, path.rg, queue, WriteTerms { reason, if_revision: query.if_revision }).await?;
    let is_new = changed.changes.first().is_some_and(|change| change.from.is_none());
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(QueueWritten::of(&path.queue, changed)?)))
}
