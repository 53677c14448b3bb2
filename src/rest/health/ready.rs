use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::view::Health;
use crate::rest::problem::Result;
use crate::service::Service;

/// The database answers; else 503.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "Health", security(()),
    responses((status = 200, body = Health)))]
pub async fn handle(State(service): State<Arc<Service>>) -> Result<Json<Health>> {
    service.ready().await?;
    Ok(Json(Health::OK))
}
