//! `GET /domains/{name}`: one domain.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::DomainView;
use crate::rest::extract::PathParams;
use crate::rest::paths::DomainPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Error, Service};

/// One domain.
#[utoipa::path(
    get, path = "/domains/{name}", operation_id = "get_domain", tag = "People",
    params(DomainPath), responses((status = 200, body = DomainView))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<DomainPath>,
) -> Result<Json<DomainView>> {
    let found = service.known_domain(&caller, &path.name)?;
    let unknown = || Error::NotFound { code: "unknown_domain", detail: format!("there is no domain {:?}", path.name) };
    Ok(Json(found.ok_or_else(unknown)?.into()))
}
