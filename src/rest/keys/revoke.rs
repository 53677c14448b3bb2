//! `DELETE /keys/{id}`: revokes a key.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::KeyPath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

/// How surely the key should go.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RevocationQuery {
    /// `true`: revokes also the last valid admin key that reaches all resource groups.
    #[serde(default)]
    #[param(required = false)]
    pub force: bool,
}

/// Revokes a key, effective at once here and within about two seconds on other instances. The last valid admin key that
/// reaches all resource groups is revoked only with `force`, because no request can make a key without it.
#[utoipa::path(
    delete, path = "/keys/{id}", operation_id = "revoke_key", tag = "Access",
    params(KeyPath, RevocationQuery),
    responses(
        (status = 204, description = "Revoked."),
        (status = 409, description = "It is the last valid admin key (`last_admin_key`).", body = ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<KeyPath>,
    QueryParams(query): QueryParams<RevocationQuery>,
) -> Result<StatusCode> {
    service.revoke_key(caller, path.id, query.force).await?;
    Ok(StatusCode::NO_CONTENT)
}
