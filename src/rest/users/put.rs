//! `PUT /users/{uuid}`: creates or changes a user.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::view::{UserRequest, UserWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::UserPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Creates a user ahead of the first kernel, or changes it: keys that are left out stay as they are, `null` takes a value
/// away. A name in the path becomes the name of a new user.
#[utoipa::path(
    put, path = "/users/{uuid}", operation_id = "put_user", tag = "People",
    params(UserPath), request_body = UserRequest,
    responses(
        (status = 200, description = "Changed, or as it was.", body = UserWritten),
        (status = 201, description = "Created.", body = UserWritten),
        (status = 409, description = "The name is that of another user.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:name_taken", "title": "Conflict", "status": 409, "code": "name_taken",
                "detail": "the name \"alice\" is that of the user 6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69; give that one another name first",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11"
            }))
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<UserPath>,
    JsonBody(body): JsonBody<UserRequest>,
) -> Result<(StatusCode, Json<UserWritten>)> {
    // A caller who may not write must not learn anything about names.
    caller.require_admin()?;
    let id = path.user(&service)?;
    let change = body.into_change(id, path.given_name(&service, id))?;
    let (row, is_new) = service.put_user(caller, id, change).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let warnings = service.user_warnings(&row);
    Ok((status, Json(UserWritten { user: row.into(), warnings })))
}
