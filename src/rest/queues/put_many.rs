//! `PUT /resource-groups/{rg}/queues`: creates and replaces many queues, all or nothing.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{QueuesBody, QueuesWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

/// Creates and replaces queues, all or none; with `prune` the queues that are not named go.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/queues", operation_id = "put_queues", tag = "Queues",
    params(GroupPath), request_body = QueuesBody,
    responses(
        (status = 200, body = QueuesWritten),
        (status = 409, description = "The configuration has changed since `if_revision`.", body = ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(body): JsonBody<QueuesBody>,
) -> Result<Json<QueuesWritten>> {
    Ok(Json(service.put_queues(caller, path.rg, body.into()).await?.into()))
}
