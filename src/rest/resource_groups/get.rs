//! `GET /resource-groups/{rg}`: one resource group.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::ResourceGroup;
use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// One resource group.
#[utoipa::path(
    get, path = "/resource-groups/{rg}", operation_id = "get_resource_group", tag = "Resource groups",
    params(GroupPath), responses((status = 200, body = ResourceGroup))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
) -> Result<Json<ResourceGroup>> {
    Ok(Json(service.group(&caller, &path.rg)?.into()))
}
