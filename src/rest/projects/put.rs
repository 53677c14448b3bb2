//! `PUT /projects/{id}`: creates or changes a project.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::view::{ProjectRequest, ProjectWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::ProjectPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Creates a project ahead of the first kernel, or changes it: keys that are left out stay as they are, `null` takes a value
/// away. A name in the path becomes the name of a new project.
#[utoipa::path(
    put, path = "/projects/{id}", operation_id = "put_project", tag = "People",
    params(ProjectPath), request_body = ProjectRequest,
    responses(
        (status = 200, description = "Changed, or as it was.", body = ProjectWritten),
        (status = 201, description = "Created.", body = ProjectWritten),
        (status = 409, description = "The name is that of another project.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:name_taken", "title": "Conflict", "status": 409, "code": "name_taken",
                "detail": "the name \"climate\" is that of the project 0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f; give that one another name first",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11"
            }))
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<ProjectPath>,
    JsonBody(body): JsonBody<ProjectRequest>,
) -> Result<(StatusCode, Json<ProjectWritten>)> {
    // A caller who may not write must not learn anything about names.
    caller.require_admin()?;
    let id = path.project(&service)?;
    let change = body.into_change(id, path.given_name(&service, id))?;
    let (row, is_new) = service.put_project(caller, id, change).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let warnings = service.project_warnings(&row);
    Ok((status, Json(ProjectWritten { project: row.into(), warnings })))
}
