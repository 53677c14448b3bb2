//! `POST /keys`: creates a key. Its text is in this response only.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::view::{CreatedKey, KeyRequest, KeyView};
use crate::rest::extract::JsonBody;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Creates a key and shows it once.
#[utoipa::path(
    post, path = "/keys", operation_id = "create_key", tag = "Access",
    request_body = KeyRequest, responses((status = 201, body = CreatedKey))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody<KeyRequest>,
) -> Result<(StatusCode, Json<CreatedKey>)> {
    // A caller who may not write must not learn anything about names.
    caller.require_admin()?;
    let new = body.into_key(&service.people())?;
    let (key, row) = service.create_key(caller, new).await?;
    let row = KeyView::new(row, &service.people());
    Ok((StatusCode::CREATED, Json(CreatedKey { key, row })))
}
