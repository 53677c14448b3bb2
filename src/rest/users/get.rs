//! `GET /users/{uuid}`: one user.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::UserView;
use crate::rest::extract::PathParams;
use crate::rest::paths::UserPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Error, Service};

/// One user.
#[utoipa::path(
    get, path = "/users/{uuid}", operation_id = "get_user", tag = "People",
    params(UserPath), responses((status = 200, body = UserView))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<UserPath>,
) -> Result<Json<UserView>> {
    let id = path.user(&service)?;
    let found = service.known_user(&caller, id)?;
    let unknown = || Error::NotFound { code: "unknown_user", detail: format!("there is no user {}", path.uuid) };
    Ok(Json(found.ok_or_else(unknown)?.into()))
}
