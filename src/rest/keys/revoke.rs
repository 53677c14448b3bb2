//! `DELETE /keys/{id}`: revokes a key.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::rest::extract::PathParams;
use crate::rest::paths::KeyPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Revokes a key, effective at once here and within about two seconds on other instances.
#[utoipa::path(
    delete, path = "/keys/{id}", operation_id = "revoke_key", tag = "Access",
    params(KeyPath), responses((status = 204, description = "Revoked."))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<KeyPath>,
) -> Result<StatusCode> {
    service.revoke_key(caller, path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
