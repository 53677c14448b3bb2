//! `GET /resource-groups`: all resource groups by name.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::ResourceGroup;
use crate::rest::extract::QueryParams;
use crate::rest::list::{List, ListCursor, PageQuery};
use crate::rest::problem::Result;
use crate::service::input::page::CursorKey;
use crate::service::{Caller, Service};

/// All resource groups by name.
#[utoipa::path(
    get, path = "/resource-groups", operation_id = "list_resource_groups", tag = "Resource groups",
    params(PageQuery), responses((status = 200, body = List<ResourceGroup>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<List<ResourceGroup>>> {
    let cursor = ListCursor::new("resource-groups", "");
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    Ok(Json(cursor.cut(&service.groups(&caller), |g| vec![CursorKey::Text(g.name.to_string())], &window)))
}
