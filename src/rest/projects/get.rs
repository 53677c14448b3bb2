//! `GET /projects/{id}`: one project.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::ProjectView;
use crate::rest::extract::PathParams;
use crate::rest::paths::ProjectPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Error, Service};

/// One project.
#[utoipa::path(
    get, path = "/projects/{id}", operation_id = "get_project", tag = "People",
    params(ProjectPath), responses((status = 200, body = ProjectView))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<ProjectPath>,
) -> Result<Json<ProjectView>> {
    let id = path.project(&service)?;
    let found = service.known_project(&caller, id)?;
    let unknown = || Error::NotFound { code: "unknown_project", detail: format!("there is no project {}", path.id) };
    Ok(Json(found.ok_or_else(unknown)?.into()))
}
