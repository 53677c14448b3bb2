//! `GET /resource-groups/{rg}/queues/{queue}`: one queue.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use crate::domain::queues::QueueConfig;
use crate::rest::extract::PathParams;
use crate::rest::paths::QueuePath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// One queue.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/queues/{queue}", operation_id = "get_queue", tag = "Queues",
    params(QueuePath), responses((status = 200, body = QueueConfig))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<QueuePath>,
) -> Result<Json<Arc<QueueConfig>>> {
    Ok(Json(service.queue(&caller, &path.rg, &path.queue)?))
}
