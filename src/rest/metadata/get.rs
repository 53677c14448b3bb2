//! `GET /metadata`: schedulers, decays, algorithms, plug-ins, jobs, roles, and every option with its range, default and unit.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::service::jobs::JobControl;
use crate::service::metadata::ServerMetadata;

/// Everything that can be chosen or set: names with their sentences, and options with type, range, default, unit and sentence. For
/// every role.
#[utoipa::path(
    get, path = "/metadata", operation_id = "get_metadata", tag = "Operations", responses((status = 200, body = ServerMetadata))
)]
pub async fn handle(State(jobs): State<Arc<dyn JobControl>>) -> Json<ServerMetadata> {
    Json(ServerMetadata::collect(&*jobs))
}
