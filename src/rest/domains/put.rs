//! `PUT /domains/{name}`: creates or changes a domain.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::view::{DomainRequest, DomainWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::DomainPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Creates a domain, or changes it: keys that are left out stay as they are, `null` takes a value away.
#[utoipa::path(
    put, path = "/domains/{name}", operation_id = "put_domain", tag = "People",
    params(DomainPath), request_body = DomainRequest,
    responses(
        (status = 200, description = "Changed, or as it was.", body = DomainWritten),
        (status = 201, description = "Created.", body = DomainWritten)
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<DomainPath>,
    JsonBody(body): JsonBody<DomainRequest>,
) -> Result<(StatusCode, Json<DomainWritten>)> {
    let change = body.into_change(&path.name)?;
    let (row, is_new) = service.put_domain(caller, path.name, change).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let warnings = service.domain_warnings(&row);
    Ok((status, Json(DomainWritten { domain: row.into(), warnings })))
}
