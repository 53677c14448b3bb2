//! `GET /healthz`: answers as long as the process is alive.

use axum::Json;

use super::view::Health;

/// The process is alive.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz", tag = "Health", security(()),
    responses((status = 200, body = Health)))]
pub async fn handle() -> Json<Health> {
    Json(Health::OK)
}
